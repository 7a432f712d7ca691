"""Exercise 15-4: find and mend a coordinator that leaves a transaction hanging."""
