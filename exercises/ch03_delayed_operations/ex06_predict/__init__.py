"""Exercise 03-6: predict which event ends a wait, and when."""
