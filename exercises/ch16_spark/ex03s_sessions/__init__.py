"""Exercise 16-3s: sessions, as a Spark stream."""
