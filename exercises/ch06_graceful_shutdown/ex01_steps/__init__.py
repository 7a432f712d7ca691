"""Exercise 06-1: what a broker does before it stops, step by step."""
