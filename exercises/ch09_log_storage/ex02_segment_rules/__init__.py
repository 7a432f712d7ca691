"""Exercise 09-2: decide when a segment rolls, and which segments retention deletes."""
