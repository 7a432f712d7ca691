"""Exercise 05-1: run for the controller's office."""
