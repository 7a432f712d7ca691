"""Exercises of chapter 03, delayed operations."""
