"""Chapter 15, exactly once: its demo."""
