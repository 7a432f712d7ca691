"""Exercise 09-2: when a segment rolls, and which segments retention takes."""
