"""Chapter 03: delayed operations, and the purgatory where they wait."""
