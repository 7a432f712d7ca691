"""The cluster as a broker knows it: brokers, leaders, replica assignments, metadata."""
