"""Exercise 16-9s: mend a Spark stream whose state grows without end."""
