"""Exercise 16-7: find batches in a log segment, with batch headers and the sparse index."""
