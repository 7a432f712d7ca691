"""Exercise 12-6: predict how many batches and requests."""
