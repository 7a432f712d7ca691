"""A ZooKeeper of our own: a pure core (tree, watches, sessions, requests) and a shell that speaks
ZooKeeper's protocol and keeps its disk.
"""
