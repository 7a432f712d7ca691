"""Exercise 02-4: find and correct an off-by-one mistake at a level's edge."""
