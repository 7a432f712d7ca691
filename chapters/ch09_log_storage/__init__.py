"""Chapter 09, log storage: its demos."""
