"""Exercise 16-19s: the report of a day, which can be made again."""
