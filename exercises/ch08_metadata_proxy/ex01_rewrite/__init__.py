"""Exercise 08-1: answer Metadata requests from a copy, in the version of each client."""
