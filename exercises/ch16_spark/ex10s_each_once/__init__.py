"""Exercise 16-10s: count each order once in a Spark stream, and add up the sales by minute."""
