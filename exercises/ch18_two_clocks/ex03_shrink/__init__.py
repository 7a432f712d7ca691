"""Exercise 18-3: the step of a shrinker."""
