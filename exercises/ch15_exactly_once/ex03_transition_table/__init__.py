"""Exercise 15-3: the transaction coordinator's table (KIP-98)."""
