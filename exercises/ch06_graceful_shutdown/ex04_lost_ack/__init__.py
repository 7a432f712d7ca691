"""Exercise 06-4: find and fix a wrong order of shutdown steps, which loses a record."""
