"""A steady load, in which every record is counted (`kafka-edu load`)."""
