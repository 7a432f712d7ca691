"""Exercise 16-18s: a Spark query that falls behind, on a real cluster."""
