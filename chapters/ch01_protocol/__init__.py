"""Chapter 01: the protocol, byte by byte."""
