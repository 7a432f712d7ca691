"""Exercise 02-5: predict where tasks go, and how often they come down."""
