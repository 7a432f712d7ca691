"""Chapter 00: the first lesson, five minutes long."""
