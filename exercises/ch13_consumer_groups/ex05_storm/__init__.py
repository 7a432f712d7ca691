"""Exercise 13-5: find the member that joins again without need, and end the storm."""
