"""The network layer: bytes of sockets to requests, and responses to bytes.

Acceptor, processors and request channel serve clients. The network client is the client side of a
connection, for example between brokers.
"""
