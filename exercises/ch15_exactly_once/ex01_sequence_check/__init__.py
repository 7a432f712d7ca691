"""Exercise 15-1: check the sequence numbers of an idempotent producer (KIP-98)."""
