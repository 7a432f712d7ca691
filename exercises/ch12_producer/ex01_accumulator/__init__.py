"""Exercise 12-1: decide which batches are sent when."""
