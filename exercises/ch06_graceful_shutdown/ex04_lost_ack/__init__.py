"""Exercise 06-4: find and mend a wrong order of shutdown steps, which loses a record."""
