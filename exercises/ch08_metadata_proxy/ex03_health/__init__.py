"""Exercise 08-3: up or down, with hysteresis."""
