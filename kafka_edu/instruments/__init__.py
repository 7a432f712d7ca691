"""Instruments: programs that read events and answer "why?", on a live cluster or on a recording.

Each one is a pure reducer of events, used by a command of `kafka-edu` and by the dashboard.
"""
