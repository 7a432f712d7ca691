"""Exercise 08-7: predict which bytes go where."""
