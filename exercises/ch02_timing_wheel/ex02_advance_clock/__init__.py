"""Exercise 02-2: write Timer.advance_clock."""
