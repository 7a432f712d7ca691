"""Instruments are programs that read events and explain a live cluster or a recording.

Each one is a pure reducer of events. A command of `kafka-edu` and the dashboard both use it.
"""
