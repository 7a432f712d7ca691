"""Exercise 03-6: predict what ends a wait, and when."""
