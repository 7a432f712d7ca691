"""Exercise 04-5: find out why a broker obeys an old controller, and fix it."""
