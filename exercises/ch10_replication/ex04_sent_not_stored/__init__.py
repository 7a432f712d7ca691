"""Exercise 10-4: find and mend a leader that counts sent records as stored records."""
