"""Exercise 05-6: find why two controllers had the same epoch."""
