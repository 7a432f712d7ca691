"""The exercises of chapter 13: consumer groups."""
