"""Exercise 05-1: write a broker that runs for controller."""
