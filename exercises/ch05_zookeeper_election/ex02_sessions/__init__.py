"""Exercise 05-2: let sessions expire in buckets."""
