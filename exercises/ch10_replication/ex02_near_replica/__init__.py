"""Exercise 10-2: choose the replica from which a consumer reads (KIP-392)."""
