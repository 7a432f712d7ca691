"""Exercise 12-3: which batch may be sent, and what happens to a refused batch."""
