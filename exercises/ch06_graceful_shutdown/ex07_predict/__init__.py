"""Exercise 06-7: predict what a graceful shutdown costs, and what kill -9 costs."""
