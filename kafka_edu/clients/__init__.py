"""kafka-edu's own clients, and the load that demos and labs put on a cluster."""
