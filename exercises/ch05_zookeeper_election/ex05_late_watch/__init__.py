"""Exercise 05-5: find and fix a watch that is set too late."""
