"""The soak test: a real cluster with real clients for an hour, while brokers are killed and paused.

The disk is kept busy during this hour. The same faults are also simulated in virtual time.
"""
