"""Exercise 16-4: exactly-once results although a query crashes and runs a batch again."""
