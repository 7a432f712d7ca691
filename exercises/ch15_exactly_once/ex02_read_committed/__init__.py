"""Exercise 15-2: the last stable offset, and the filter of aborted transactions (KIP-98)."""
