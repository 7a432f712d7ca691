"""Screens: widgets in their places, and what the keys do."""
