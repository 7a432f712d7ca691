"""Exercise 16-8: a report on a cluster's recordings that is wrong."""
