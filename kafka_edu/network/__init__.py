"""The network layer: makes requests from the bytes of sockets, and bytes from responses.

Acceptor, processors and request channel serve clients. NetworkClient is the client side of a
connection, for example between brokers.
"""
