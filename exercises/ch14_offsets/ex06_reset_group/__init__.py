"""Exercise 14-6: reset a group to a point in time, while new records come all the time."""
