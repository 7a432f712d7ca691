"""Exercise 07-7: predict in ten situations which broker leads next."""
