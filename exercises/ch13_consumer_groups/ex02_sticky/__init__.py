"""Exercise 13-2: divide equally, and let as few partitions as possible move."""
