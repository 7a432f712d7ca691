"""Exercise 08-5: find and fix a proxy that leaves out a field of older versions."""
