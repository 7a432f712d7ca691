"""Exercise 13-5: find the member that joins again without a reason, and end the storm."""
