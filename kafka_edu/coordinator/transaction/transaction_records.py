"""Encode and decode the records of `__transaction_state` (Kafka: TransactionLog.scala).

The key is the transactional id, and the value is its state. If the id has expired, the value is
null. The topic is compacted, so only the last record of an id is valid. Partitions are grouped by
topic. The fields `last producer id` and `last epoch` are not stored in Kafka 2.8, so a new
coordinator does not know them. The new coordinator treats a producer that retries like one that
continues.
"""

import struct
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.transaction.transaction_metadata import TxnTransitMetadata
from kafka_edu.coordinator.transaction.transaction_state import (
    STATE_OF_STATUS,
    STATUS,
    TransactionState,
)
from kafka_edu.protocol.messages.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, build_batch

VERSION: Final = 0
_VERSION: Final = struct.Struct(">h")


def transaction_key(transactional_id: str) -> bytes:
    return _VERSION.pack(VERSION) + TransactionLogKey(transactional_id=transactional_id).encode(
        VERSION
    )


def transaction_value(transit: TxnTransitMetadata) -> bytes:
    """Return a state as the bytes of a record's value; topics and partitions are sorted.

    As in Kafka, the partitions of the state Empty are null.
    """
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(transit.topic_partitions):
        topics.setdefault(topic, []).append(partition)
    partitions = [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in topics.items()]
    return _VERSION.pack(VERSION) + TransactionLogValue(
        producer_id=transit.producer_id,
        producer_epoch=transit.producer_epoch,
        transaction_timeout_ms=transit.txn_timeout_ms,
        transaction_status=STATUS[transit.state],
        transaction_partitions=None if transit.state is TransactionState.EMPTY else partitions,
        transaction_last_update_timestamp_ms=transit.txn_last_update_timestamp,
        transaction_start_timestamp_ms=transit.txn_start_timestamp,
    ).encode(VERSION)


def transaction_batch(
    transactional_id: str, transit: TxnTransitMetadata | None, now_ms: int
) -> bytes:
    """Return an uncompressed batch with one record; if `transit` is None, with a tombstone."""
    value = None if transit is None else transaction_value(transit)
    return build_batch([Record(0, now_ms, transaction_key(transactional_id), value)])


def read_transaction_key(key: bytes) -> str | None:
    """Return the transactional id; None for a key of a different version, which is ignored.

    Raises ProtocolError if the key is broken.
    """
    if len(key) < _VERSION.size or _VERSION.unpack_from(key)[0] != VERSION:
        return None
    return TransactionLogKey.decode(key, VERSION, _VERSION.size).transactional_id


def read_transaction_value(value: bytes) -> TxnTransitMetadata | None:
    """Return the state that a value contains; None for a value of a different version.

    Raises ProtocolError if the value is broken.
    """
    if len(value) < _VERSION.size or _VERSION.unpack_from(value)[0] != VERSION:
        return None
    stored = TransactionLogValue.decode(value, VERSION, _VERSION.size)
    partitions = frozenset(
        TopicPartition(topic.topic, p)
        for topic in stored.transaction_partitions or ()
        for p in topic.partition_ids
    )
    return TxnTransitMetadata(
        stored.producer_id,
        NO_PRODUCER_ID,
        stored.producer_epoch,
        NO_PRODUCER_EPOCH,
        stored.transaction_timeout_ms,
        STATE_OF_STATUS[stored.transaction_status],
        partitions,
        stored.transaction_start_timestamp_ms,
        stored.transaction_last_update_timestamp_ms,
    )
