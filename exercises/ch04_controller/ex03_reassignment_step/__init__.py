"""Exercise 04-3: decide the next step of a reassignment."""
