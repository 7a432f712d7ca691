"""The metadata proxy: an address in bootstrap.servers need not be a broker (book §6.5.2;
docs/metadata-proxy.md).
"""
