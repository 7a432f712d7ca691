"""Exercise 16-17s: a query that falls behind, and writes thousands of small files."""
