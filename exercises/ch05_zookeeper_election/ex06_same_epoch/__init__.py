"""Exercise 05-6: find out why two controllers had the same epoch, and fix it."""
