"""Exercise 10-5: find why three partitions are under-replicated, and fix them."""
