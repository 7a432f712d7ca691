"""The exercises of chapter 08: the metadata proxy."""
