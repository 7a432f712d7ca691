"""Exercise 04-2: put what the brokers must know into few requests."""
