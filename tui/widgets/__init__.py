"""Widgets: each draws one part of a view model, and names the classes that emit its events."""
