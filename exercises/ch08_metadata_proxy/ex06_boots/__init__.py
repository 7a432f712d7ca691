"""Exercise 08-6: a client that boots and then cannot produce, in a real cluster."""
