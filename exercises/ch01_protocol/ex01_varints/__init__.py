"""Exercise 01-1: varints that arrive in pieces."""
