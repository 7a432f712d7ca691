"""The writer of a batch that a leader appends (Kafka: AppendOrigin in LogValidator.scala and
Log.scala).
"""

from enum import StrEnum


class AppendOrigin(StrEnum):
    """The origin of a batch decides how much of it the leader checks: everything of a client's
    batch, less of a batch from the broker's own coordinators.
    """

    CLIENT = "client"
    """A producer. Its sequence numbers are checked, and control records are refused."""
    COORDINATOR = "coordinator"
    """A coordinator of this broker, or a marker that one sent (WriteTxnMarkers). There are no
    sequence numbers, and control records are allowed. Only the producer's epoch is compared with
    the last one seen.
    """
