"""Chapter 08, the metadata proxy: its demo."""
