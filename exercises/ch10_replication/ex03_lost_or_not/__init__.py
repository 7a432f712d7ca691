"""Exercise 10-3: predict how many acknowledged records are lost, in eight cases."""
