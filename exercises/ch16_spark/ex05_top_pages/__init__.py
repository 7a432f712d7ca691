"""Exercise 16-5: find the top pages by merging partial results."""
