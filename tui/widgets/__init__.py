"""Widgets: each draws one part of a view model, and names the classes behind it."""
