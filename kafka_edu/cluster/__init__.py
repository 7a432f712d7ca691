"""A broker's knowledge of its cluster: brokers, leaders, replica assignments, metadata."""
