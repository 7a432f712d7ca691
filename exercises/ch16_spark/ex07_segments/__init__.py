"""Exercise 16-7: read a segment by its heads and its sparse index."""
