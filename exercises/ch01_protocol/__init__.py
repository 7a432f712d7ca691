"""The exercises of chapter 01: the protocol."""
