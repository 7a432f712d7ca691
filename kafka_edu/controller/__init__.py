"""The controller: the one broker that decides which replicas lead (book 000 §6.4)."""
