"""Exercise 07-2: decide which followers leave the ISR, and which may join it."""
