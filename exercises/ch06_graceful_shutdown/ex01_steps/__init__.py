"""Exercise 06-1: write the steps by which a broker asks the controller before it stops."""
