"""Exercise 08-6: find out why a client of a real cluster starts, but cannot produce."""
