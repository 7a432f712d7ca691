"""Exercise 12-7: a producer whose buffer is full, and why."""
