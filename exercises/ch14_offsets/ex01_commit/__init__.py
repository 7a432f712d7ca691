"""Exercise 14-1: what to commit, and when, so that a rebalance loses nothing."""
