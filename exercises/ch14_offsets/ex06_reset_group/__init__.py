"""Exercise 14-6: reset a group to a time, while records come all the time."""
