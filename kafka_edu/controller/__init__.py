"""The controller: the one broker that decides who leads (book 000 §6.4)."""
