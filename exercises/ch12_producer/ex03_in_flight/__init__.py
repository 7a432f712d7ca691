"""Exercise 12-3: which batch may be sent, and what becomes of one that was refused."""
