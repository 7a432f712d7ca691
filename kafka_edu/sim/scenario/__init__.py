"""Scenarios: short files that say what a simulated cluster, its clients and its faults do, and what
must be true in the end (docs/simulator.md).
"""
