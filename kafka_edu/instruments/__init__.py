"""Instruments are programs that read events and explain a live cluster or a recording.

Each instrument is a pure reducer of events. Both a command of `kafka-edu` and the dashboard use the
same reducer.
"""
