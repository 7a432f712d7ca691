"""A generated web log whose statistics are known.

Demos, labs and the Spark pipeline use its lines.
"""
