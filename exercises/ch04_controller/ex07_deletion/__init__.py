"""Exercise 04-7: find and mend why the deletion of a topic never ends."""
