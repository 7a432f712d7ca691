"""WriteTxnMarkers (key 27): the transaction coordinator makes leaders write markers (KIP-98).

A marker in a partition says whether a transaction was committed or aborted.
"""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int16, Int32, Int64, String


class WritableTxnMarkerTopic(Struct):
    """The partitions of one topic in which to write the marker."""

    name: str = field(String, "0+", "The topic.")
    partition_indexes: list[int] = field(Array(Int32), "0+", "The partitions.")


class WritableTxnMarker(Struct):
    """The marker of one transaction, and the partitions in which to write it."""

    producer_id: int = field(Int64, "0+", "The producer's id.")
    producer_epoch: int = field(Int16, "0+", "The producer's epoch.")
    transaction_result: bool = field(Bool, "0+", "True: committed, False: aborted.")
    topics: list[WritableTxnMarkerTopic] = field(
        Array(WritableTxnMarkerTopic), "0+", "The partitions to which the marker is written."
    )
    coordinator_epoch: int = field(
        Int32, "0+", "The epoch of the transaction coordinator that writes."
    )


class WriteTxnMarkersRequest(Message, key=ApiKey.WRITE_TXN_MARKERS, valid="0-1", flexible="1+"):
    """The markers to write (Kafka: WriteTxnMarkersRequest.json)."""

    markers: list[WritableTxnMarker] = field(
        Array(WritableTxnMarker), "0+", "One entry for each transaction."
    )


class WritableTxnMarkerPartitionResult(Struct):
    """The result for one partition."""

    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")


class WritableTxnMarkerTopicResult(Struct):
    """Results for one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[WritableTxnMarkerPartitionResult] = field(
        Array(WritableTxnMarkerPartitionResult), "0+", "The partitions."
    )


class WritableTxnMarkerResult(Struct):
    """The result for one marker."""

    producer_id: int = field(Int64, "0+", "The producer's id.")
    topics: list[WritableTxnMarkerTopicResult] = field(
        Array(WritableTxnMarkerTopicResult), "0+", "The results, by topic."
    )


class WriteTxnMarkersResponse(Message, key=ApiKey.WRITE_TXN_MARKERS, valid="0-1", flexible="1+"):
    """The result for each marker (Kafka: WriteTxnMarkersResponse.json)."""

    markers: list[WritableTxnMarkerResult] = field(
        Array(WritableTxnMarkerResult), "0+", "One entry for each transaction."
    )
