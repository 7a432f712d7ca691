"""Exercise 09-3: predict which segment goes, and when."""
