"""Exercise 06-1: write the steps of a broker that asks the controller before it stops."""
