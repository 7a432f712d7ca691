"""Coordination of clients by brokers: groups (`group`) and transactions (spec O1, O2).

Each of the two has its own internal topic.
"""
