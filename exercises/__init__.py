"""Exercises: `kafka-edu lab`. The table of them is manifest.toml; runner/ copies, checks and hints;
each exercise has a folder of its own.
"""
