"""Exercise 10-4: find and mend a leader that counts what it has sent."""
