"""Exercise 16-4s: a sink that writes each row once, across kill -9."""
