"""Exercise 16-1s: parse and quarantine, as a Spark job."""
