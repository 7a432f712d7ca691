"""Exercise 06-5: find and fix a shutdown that reports success though partitions go offline."""
