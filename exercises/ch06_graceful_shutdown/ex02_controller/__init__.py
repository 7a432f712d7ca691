"""Exercise 06-2: write what the controller does for a broker that wants to stop."""
