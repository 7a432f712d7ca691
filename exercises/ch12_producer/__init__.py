"""The exercises of chapter 12: the producer."""
