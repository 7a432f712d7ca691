"""Screens: the arrangement of widgets, and the effect of keys."""
