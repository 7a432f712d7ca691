"""Chapter 12: the producer, from `send()` to the acknowledgement."""
