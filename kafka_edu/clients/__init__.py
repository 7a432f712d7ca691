"""Clients of our own, and the load that demos and labs put on a cluster."""
