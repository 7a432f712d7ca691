"""Exercise 16-9s: fix a Spark stream whose state grows without end."""
