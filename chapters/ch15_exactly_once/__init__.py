"""The demo of chapter 15, exactly once."""
