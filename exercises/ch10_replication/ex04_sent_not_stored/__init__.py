"""Exercise 10-4: find and fix a leader that counts sent records as stored records."""
