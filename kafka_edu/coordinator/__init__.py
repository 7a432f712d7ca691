"""Brokers coordinate clients: consumer groups (`group`) and transactions (spec O1, O2).

Groups and transactions each have one internal topic.
"""
