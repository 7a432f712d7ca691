"""Exercise 08-3: decide whether a target is up or down, with hysteresis."""
