"""Exercise 14-3: which records of __consumer_offsets stay, and which offsets expire."""
