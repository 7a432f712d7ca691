"""Exercise 16-13s: mend a Spark stream that loses late errors, and tells the last ones too late."""
