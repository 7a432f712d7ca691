"""Exercises of chapter 02, the timing wheel."""
