"""Exercise 16-6: an alarm for bursts of errors."""
