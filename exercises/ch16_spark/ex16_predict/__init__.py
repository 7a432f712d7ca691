"""Exercise 16-16: predict what comes again after a kill, by the point of the kill and the sink."""
