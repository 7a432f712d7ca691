"""Who appends to a log as its leader (Kafka: AppendOrigin in LogValidator.scala and Log.scala)."""

from enum import StrEnum


class AppendOrigin(StrEnum):
    """How much a leader asks of a batch: a client is trusted with nothing, the broker's own
    coordinators with their records.
    """

    CLIENT = "client"
    """A producer: its sequence numbers are checked, and control records are refused."""
    COORDINATOR = "coordinator"
    """A coordinator of this broker, or a marker that one sent (WriteTxnMarkers): without sequence
    numbers, control records allowed. Only the producer's epoch is held against the last one seen.
    """
