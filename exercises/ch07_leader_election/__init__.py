"""Exercises of chapter 07: leader election."""
