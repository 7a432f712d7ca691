"""Exercise 18-1: choose the next event of a simulation."""
