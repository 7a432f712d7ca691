"""Exercise 01-6: an incremental fetch session."""
