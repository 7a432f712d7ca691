"""Exercise 07-7: predict who leads next, in ten situations."""
