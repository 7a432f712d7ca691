"""Chapter 13: consumer groups, from the first join to the last heartbeat."""
