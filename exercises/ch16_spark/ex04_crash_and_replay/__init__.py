"""Exercise 16-4: exactly-once results when a query crashes and runs a batch again."""
