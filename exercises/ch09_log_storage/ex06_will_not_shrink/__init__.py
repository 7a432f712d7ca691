"""Exercise 09-6: find out why a compacted partition does not shrink, and make it shrink."""
