"""Exercise 02-4: find and correct an off-by-one mistake at the edge of a level of the timing
wheel.
"""
