"""Exercise 08-2: choose the cluster to which a proxy leads each client."""
