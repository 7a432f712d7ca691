"""Exercise 12-4: find and mend what loses the callback of a record."""
