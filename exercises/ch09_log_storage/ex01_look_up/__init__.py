"""Exercise 09-1: look an offset up, by two binary searches and a walk."""
