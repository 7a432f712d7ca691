"""Exercise 09-6: find why a compacted partition does not shrink, and let it."""
