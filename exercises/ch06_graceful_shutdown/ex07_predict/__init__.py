"""Exercise 06-7: predict what an orderly end costs, and what kill -9 costs."""
