"""Exercise 08-1: answer Metadata from a copy, in the client's version."""
