"""Exercise 16-4s: a sink that stores each row exactly once, even if its process is killed."""
