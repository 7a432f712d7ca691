"""The wire microscope: show requests and responses byte by byte (spec P8)."""
