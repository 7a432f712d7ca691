"""Exercise 07-6: a partition whose three replicas are dead, in a real cluster."""
