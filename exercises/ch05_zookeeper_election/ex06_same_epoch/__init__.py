"""Exercise 05-6: find and mend why two controllers had the same epoch."""
