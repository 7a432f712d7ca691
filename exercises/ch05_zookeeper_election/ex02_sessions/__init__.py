"""Exercise 05-2: sessions in buckets."""
