"""Exercise 16-4s: a sink that stores each row once, although its process is killed."""
