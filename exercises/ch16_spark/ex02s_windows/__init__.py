"""Exercise 16-2s: windows with a watermark, as a Spark stream."""
