"""Exercise 03-5: a produce times out. Find and heal the broker that causes the time-out."""
