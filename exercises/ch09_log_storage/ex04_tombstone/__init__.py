"""Exercise 09-4: find the tombstone that was removed too early, and fix the rule."""
