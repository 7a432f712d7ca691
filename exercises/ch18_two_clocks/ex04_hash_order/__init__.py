"""Exercise 18-4: a scheduler that depends on the order of a set."""
