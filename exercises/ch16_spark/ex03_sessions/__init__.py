"""Exercise 16-3: sessions."""
