"""ZooKeeper's wire protocol: the jute codec, the numbers of the operations, and requests and
responses as values and as bytes.

The embedded server uses this package, and so do clients and the simulator.
"""
