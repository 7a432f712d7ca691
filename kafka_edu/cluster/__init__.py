"""What a broker knows of the cluster it is in."""
