"""Exercise 04-4: predict what the controller sends, and to whom."""
