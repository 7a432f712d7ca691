"""The metadata proxy: what bootstrap.servers names need not be a broker (book §6.5.2;
docs/metadata-proxy.md).
"""
