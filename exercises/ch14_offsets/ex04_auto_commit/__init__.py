"""Exercise 14-4: find and fix the automatic commit that loses records."""
