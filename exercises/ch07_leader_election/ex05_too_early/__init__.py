"""Exercise 07-5: find and mend an ISR that grows one record too early."""
