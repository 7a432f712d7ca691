"""Exercise 05-5: find and mend a watch that is set too late."""
