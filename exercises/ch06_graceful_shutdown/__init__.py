"""The exercises of chapter 06: graceful shutdown."""
