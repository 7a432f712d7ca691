"""A steady load on a cluster by unmodified clients, counted record by record (`kafka-edu load`)."""
