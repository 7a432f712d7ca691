"""Exercise 08-5: the reference solution. It reads the answers that seed 0 gives (Kafka:
MetadataResponse.json).
"""

#: For each part of the answer its fields in their order, each with the version since which it has
#: it.
TABLES = {
    "answer": (
        ("throttle_time_ms", 3),  # int32
        ("brokers", 0),  # int32 for the number, then the brokers
        ("cluster_id", 2),  # string: int16 for the length, or -1 for null, then the bytes
        ("controller_id", 1),  # int32
        ("topics", 0),  # int32, then the topics
        ("cluster_authorized_operations", 8),  # int32
    ),
    "broker": (
        ("node_id", 0),  # int32
        ("host", 0),  # string
        ("port", 0),  # int32
        ("rack", 1),  # string
    ),
    "topic": (
        ("error_code", 0),  # int16
        ("name", 0),  # string
        ("is_internal", 1),  # one byte, 0 or 1
        ("partitions", 0),  # int32, then the partitions
        ("topic_authorized_operations", 8),  # int32
    ),
    "partition": (
        ("error_code", 0),  # int16
        ("partition_index", 0),  # int32
        ("leader_id", 0),  # int32
        ("leader_epoch", 7),  # int32
        ("replica_nodes", 0),  # int32, then an int32 for each
        ("isr_nodes", 0),  # int32, then an int32 for each
        ("offline_replicas", 5),  # int32, then an int32 for each
    ),
}


class Layout:
    """Knows which fields a Metadata response has in each of the versions 0 to 8."""

    def fields(self, part: str, version: int) -> list[str]:
        """Return the names of the fields of one part of the response, in their order."""
        return [name for name, since in TABLES[part] if version >= since]

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the wrongly read answer, and where its first wrong byte is."""
        return 3, 77
