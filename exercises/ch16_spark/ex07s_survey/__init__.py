"""Exercise 16-7s: codecs and sparse indexes of whole log dirs, read from disk by Spark."""
