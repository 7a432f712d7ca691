"""The demos of chapter 09, log storage."""
