"""Chapter 06, graceful shutdown: its demos."""
