"""Exercise 06-3: where the recovery point is, and what a start reads again."""
