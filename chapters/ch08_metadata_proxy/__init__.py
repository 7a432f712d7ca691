"""Chapter 08: what bootstrap.servers means, and a metadata proxy."""
