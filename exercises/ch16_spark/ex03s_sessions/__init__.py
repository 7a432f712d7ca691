"""Exercise 16-3s: group log lines into sessions in a Spark stream."""
