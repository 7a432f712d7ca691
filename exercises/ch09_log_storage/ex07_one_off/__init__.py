"""Exercise 09-7: find the index entry that leads one batch too far, and fix the index."""
