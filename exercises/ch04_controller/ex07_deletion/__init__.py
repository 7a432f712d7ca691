"""Exercise 04-7: find out why the deletion of a topic never ends, and fix it."""
