"""Exercise 16-13s: mend a Spark stream that loses late errors, and reports the last too late."""
