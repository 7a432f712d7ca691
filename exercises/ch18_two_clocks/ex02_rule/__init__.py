"""Exercise 18-2: a rule of the checker."""
