"""ZooKeeper's wire: jute's encoding, the operations' numbers, requests and responses as values and
as bytes.

Both sides of a connection use it: the embedded server, and whatever speaks to a server.
"""
