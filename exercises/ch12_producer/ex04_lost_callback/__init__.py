"""Exercise 12-4: find and fix the code that loses the callback of a record."""
