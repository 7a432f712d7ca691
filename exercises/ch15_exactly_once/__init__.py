"""The exercises of chapter 15: exactly once."""
