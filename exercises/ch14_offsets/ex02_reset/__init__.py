"""Exercise 14-2: where a consumer reads without a valid position."""
