"""Exercise 18-6: predict the next event of a simulation."""
