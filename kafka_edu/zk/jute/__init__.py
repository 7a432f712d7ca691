"""ZooKeeper's wire protocol: the jute encoding, the numbers of the operations, and all requests and
responses as Python values and as bytes.

The embedded server, the clients and the simulator use this package.
"""
