"""Exercise 03-4: find and mend a lost wake-up."""
