"""Exercise 07-2: who leaves the ISR, and who joins it."""
