"""Exercise 05-3: watches that fire once, in the right order."""
