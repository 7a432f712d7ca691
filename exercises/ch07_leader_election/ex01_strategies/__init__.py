"""Exercise 07-1: write the four strategies by which the controller elects a leader."""
