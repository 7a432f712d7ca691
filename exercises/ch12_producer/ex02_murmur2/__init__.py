"""Exercise 12-2: choose a partition as Java's DefaultPartitioner does."""
