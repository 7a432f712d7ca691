"""Exercise 13-8: a group whose lag grows, on a real cluster."""
