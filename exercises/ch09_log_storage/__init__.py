"""The exercises of chapter 09: log storage."""
