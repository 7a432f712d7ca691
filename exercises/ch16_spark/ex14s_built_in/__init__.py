"""Exercise 16-14s: replace the Python functions of a Spark job by built-in ones."""
