"""Exercise 16-2: late data and watermarks."""
