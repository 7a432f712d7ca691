"""Exercise 03-4: find and correct a lost wake-up."""
