"""Exercise 16-2s: count lines per minute in a Spark stream with a watermark."""
