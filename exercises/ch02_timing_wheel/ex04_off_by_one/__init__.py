"""Exercise 02-4: find and mend an off-by-one at a level's edge."""
