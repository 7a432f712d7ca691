"""Exercise 08-4: find and mend a proxy whose coordinators are stale."""
