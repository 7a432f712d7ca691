"""Exercise 01-5: a client that negotiates versions."""
