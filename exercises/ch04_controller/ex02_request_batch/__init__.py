"""Exercise 04-2: pack what the brokers must know into few requests."""
