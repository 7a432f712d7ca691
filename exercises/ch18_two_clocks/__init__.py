"""The exercises of chapter 18: two clocks."""
