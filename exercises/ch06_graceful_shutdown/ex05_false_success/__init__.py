"""Exercise 06-5: find and mend a shutdown that reports success though partitions go offline."""
