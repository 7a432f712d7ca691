"""Exercise 07-1: the four strategies that elect a leader."""
