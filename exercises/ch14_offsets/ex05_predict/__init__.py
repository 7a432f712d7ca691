"""Exercise 14-5: predict which records come again."""
