"""Exercises of chapter 06: graceful shutdown."""
