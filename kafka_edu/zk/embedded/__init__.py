"""An embedded ZooKeeper server. It has a pure core (tree, watches, sessions, requests) and a shell
that speaks ZooKeeper's protocol and writes to disk.
"""
