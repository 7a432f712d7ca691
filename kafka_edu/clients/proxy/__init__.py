"""The metadata proxy, which shows that an address in bootstrap.servers does not have to be a
broker.

Book §6.5.2; docs/metadata-proxy.md.
"""
