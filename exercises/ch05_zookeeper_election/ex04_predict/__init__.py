"""Exercise 05-4: predict when there is no controller, and for how long."""
