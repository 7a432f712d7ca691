"""Chapter 14: offsets and delivery. What a group reads twice, and what it never reads."""
