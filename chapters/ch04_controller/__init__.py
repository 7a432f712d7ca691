"""Chapter 04, the controller: its demos."""
