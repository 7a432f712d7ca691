"""Exercise 15-5: predict what each isolation level reads."""
