"""Exercise 16-8: fix a wrong report on the recordings of a cluster."""
