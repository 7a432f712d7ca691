"""The demos of chapter 10, replication."""
