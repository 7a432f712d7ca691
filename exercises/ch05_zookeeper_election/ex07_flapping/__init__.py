"""Exercise 05-7: a broker whose session ends again and again, in a real cluster."""
