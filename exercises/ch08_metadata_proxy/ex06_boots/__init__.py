"""Exercise 08-6: find why a client of a real cluster starts well, but cannot produce."""
