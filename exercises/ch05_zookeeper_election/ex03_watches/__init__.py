"""Exercise 05-3: fire each watch once, and in the right order."""
