"""Exercise 16-5: top pages, from partial results."""
