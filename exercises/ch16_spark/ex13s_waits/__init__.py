"""Exercise 16-13s: fix a Spark stream that loses late errors, and reports the last one too late."""
