"""Exercise 06-2: what the controller does for a broker that wants to go."""
