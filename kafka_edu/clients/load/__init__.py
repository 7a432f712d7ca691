"""A steady load by unmodified clients, in which every record is counted (`kafka-edu load`)."""
