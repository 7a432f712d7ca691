"""Chapter 18: two clocks."""
