"""The wire microscope: requests and responses, byte by byte (spec P8)."""
