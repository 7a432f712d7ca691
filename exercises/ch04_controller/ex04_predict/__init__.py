"""Exercise 04-4: predict which requests the controller sends, and to which brokers."""
