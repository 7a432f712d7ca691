"""Exercise 16-8: mend a wrong report on the recordings of a cluster."""
