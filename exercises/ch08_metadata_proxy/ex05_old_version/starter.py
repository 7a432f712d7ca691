"""Exercise 08-5: this proxy leaves out a field in some versions. README.md describes the task.
`kafka-edu lab check 08-5` tests your code. `kafka-edu lab hint 08-5` gives a hint.
"""

#: For each part of the answer: its fields in their order, each with the first version that has it.
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
        ("is_internal", 4),  # one byte, 0 or 1
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
    """Knows which fields an answer to Metadata has in each of the versions 0 to 8."""

    def fields(self, part: str, version: int) -> list[str]:
        """Return the names of the fields that this part has in this version, in their order."""
        return [name for name, since in TABLES[part] if version >= since]

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the answer in answers.txt that a client reads wrongly, and the
        position of the first byte that the client reads wrongly.
        """
        raise NotImplementedError(
            "Layout.diagnosis is not written yet: it returns (number of the answer, position of the"
            " byte)"
        )
