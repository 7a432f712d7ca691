"""Exercise 12-4: find and mend the code that loses the callback of a record."""
