"""Exercise 06-4: find and mend an order of shutdown that loses an acknowledged record."""
