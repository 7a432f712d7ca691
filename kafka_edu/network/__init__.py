"""Sockets to requests and back: acceptor, processors, request channel; and the client side of a
connection between brokers.
"""
