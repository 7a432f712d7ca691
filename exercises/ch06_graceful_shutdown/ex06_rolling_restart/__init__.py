"""Exercise 06-6: restart the brokers of a real cluster in turn, while an application uses it."""
