"""Exercise 16-7: read a log segment by its batch heads and its sparse index."""
