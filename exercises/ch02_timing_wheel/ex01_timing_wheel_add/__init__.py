"""Exercise 02-1: write TimingWheel.add."""
