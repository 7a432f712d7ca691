"""Chapters: `kafka-edu chapter`. Each is a package chNN_slug with README.md (read, run, watch,
break, do) and demo.py.
"""
