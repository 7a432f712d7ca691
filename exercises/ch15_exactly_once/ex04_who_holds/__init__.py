"""Exercise 15-4: find and fix a coordinator that leaves a transaction hanging."""
