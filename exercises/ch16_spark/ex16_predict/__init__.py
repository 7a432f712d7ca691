"""Exercise 16-16: predict which rows come again after a kill, for several sinks."""
