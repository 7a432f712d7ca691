"""Exercise 14-4: find and mend the automatic commit that loses records."""
