"""What a broker knows about its cluster: brokers, leaders, replica assignments, metadata."""
