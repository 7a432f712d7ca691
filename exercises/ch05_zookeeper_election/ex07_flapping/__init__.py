"""Exercise 05-7: in a real cluster, the session of one broker ends again and again."""
