"""The writer of a batch that a leader appends (Kafka: AppendOrigin in LogValidator.scala and
Log.scala).
"""

from enum import StrEnum


class AppendOrigin(StrEnum):
    """The writer of a batch. The leader checks everything in a client's batch, and less in a batch
    of this broker's own coordinators.
    """

    CLIENT = "client"
    """A producer. The sequence numbers of its batches are checked, and control records are
    refused.
    """
    COORDINATOR = "coordinator"
    """A coordinator of this broker, or another broker's coordinator that sent a transaction marker
    (WriteTxnMarkers). Its batches have no sequence numbers and may contain control records. Only
    the producer epoch is compared with the last known epoch.
    """
