"""The demos of chapter 06, graceful shutdown."""
