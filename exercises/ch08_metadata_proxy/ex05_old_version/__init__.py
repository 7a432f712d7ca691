"""Exercise 08-5: find and mend a proxy that leaves out a field of older versions."""
