"""Exercise 16-1: parse and quarantine."""
