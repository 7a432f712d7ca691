"""Exercise 16-3: group the log lines of each client into sessions."""
