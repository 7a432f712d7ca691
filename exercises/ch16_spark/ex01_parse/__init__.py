"""Exercise 16-1: parse log lines, and name the first wrong field of each bad line."""
