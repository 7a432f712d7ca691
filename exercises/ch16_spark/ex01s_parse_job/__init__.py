"""Exercise 16-1s: a Spark job that parses log lines and keeps the bad lines apart."""
