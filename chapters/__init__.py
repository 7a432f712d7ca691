"""Chapters of the course, which `kafka-edu chapter` plays.

Each chapter is a package chNN_slug with README.md (read, run, watch, break, do) and demo.py.
"""
