"""The exercises of chapter 14: offsets and delivery."""
