"""Exercise 03-1: write tryCompleteElseWatch, step by step."""
