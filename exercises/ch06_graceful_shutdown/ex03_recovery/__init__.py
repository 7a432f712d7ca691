"""Exercise 06-3: move the recovery point of a log, and find the segments to read at a start."""
