"""A ZooKeeper server of our own, written in Python. Its core (tree, watches, sessions, requests)
does no input or output. The modules around the core speak ZooKeeper's protocol and write to disk.
"""
