"""Benchmarks, each compared with a named peer. `kafka-edu bench NAME` runs the module with that
NAME.
"""
