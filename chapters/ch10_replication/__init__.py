"""Chapter 10, replication: its demos."""
