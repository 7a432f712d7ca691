"""The metadata proxy, which shows that an address in bootstrap.servers need not be a broker.

Book §6.5.2; docs/metadata-proxy.md.
"""
