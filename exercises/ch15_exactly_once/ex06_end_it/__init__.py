"""Exercise 15-6: end a hanging transaction in a real cluster."""
