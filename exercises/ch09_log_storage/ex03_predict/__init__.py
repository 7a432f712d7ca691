"""Exercise 09-3: predict which segments retention deletes, and when."""
