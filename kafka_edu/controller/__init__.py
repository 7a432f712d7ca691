"""The controller: the broker that decides which replicas lead (book 000 §6.4)."""
