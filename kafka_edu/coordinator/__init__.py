"""What brokers coordinate for their clients: groups (`group`) and transactions, each on an internal
topic of its own (spec O1, O2).
"""
