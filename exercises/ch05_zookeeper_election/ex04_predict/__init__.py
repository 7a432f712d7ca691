"""Exercise 05-4: predict when nobody is the controller, and for how long."""
