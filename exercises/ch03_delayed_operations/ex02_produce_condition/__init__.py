"""Exercise 03-2: write the condition of DelayedProduce."""
