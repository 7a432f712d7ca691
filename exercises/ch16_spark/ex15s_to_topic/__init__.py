"""Exercise 16-15s: the views of each page, as records with a key for a compacted topic."""
