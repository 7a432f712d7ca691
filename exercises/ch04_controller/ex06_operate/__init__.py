"""Exercise 04-6: a move that does not end, in a real cluster."""
