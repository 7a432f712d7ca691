"""Instruments: typed events, the tracer that takes them at the doors, the sinks they go to, and the
reader that joins several brokers.
"""
