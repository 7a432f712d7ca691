"""Benchmarks, each beside a named peer: `kafka-edu bench NAME` runs the module here whose NAME it
is.
"""
