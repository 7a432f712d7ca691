"""Exercises of chapter 04, the controller."""
