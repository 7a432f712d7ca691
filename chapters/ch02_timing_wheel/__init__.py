"""Chapter 02: the timing wheel."""
