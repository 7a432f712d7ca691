"""Control records: the markers that end a transaction in a partition.

(Kafka: ControlRecordType.java, EndTransactionMarker.java.) A control batch holds one record. Its
key is `version int16, type int16` (0 abort, 1 commit), and its value is `version int16, coordinator
epoch int32`. Only brokers write control records; a producer that sends one gets an error. Consumers
do not pass them to the application.
"""

import struct
from enum import IntEnum
from typing import Final, NamedTuple

from kafka_edu.common.files import Buffer
from kafka_edu.record.record import InvalidRecordError, Record
from kafka_edu.record.record_batch import build_batch, read_records

_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")


class ControlRecordType(IntEnum):
    ABORT = 0
    COMMIT = 1


class EndTransactionMarker(NamedTuple):
    """A marker: commit or abort, and the epoch of the coordinator that decided this."""

    type: ControlRecordType
    coordinator_epoch: int


def read_end_transaction_marker(batch: Buffer) -> EndTransactionMarker | None:
    """Return the marker in a control batch; None if compaction has emptied the batch.

    Raises InvalidRecordError if the batch has anything but such a marker.
    """
    records = read_records(batch)
    if not records:
        return None
    if records[0].key is None or records[0].value is None:
        raise InvalidRecordError("the control batch has no control record")
    try:
        _, kind = _KEY.unpack_from(records[0].key)
        _, coordinator_epoch = _VALUE.unpack_from(records[0].value)
        return EndTransactionMarker(ControlRecordType(kind), coordinator_epoch)
    except (struct.error, ValueError) as error:
        raise InvalidRecordError(f"not an end-of-transaction marker: {error}") from error


def build_end_transaction_marker(
    marker: EndTransactionMarker,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    offset: int = 0,
) -> bytes:
    """Return the control batch that ends the transaction of `producer_id`."""
    record = Record(
        offset, timestamp, _KEY.pack(0, marker.type), _VALUE.pack(0, marker.coordinator_epoch)
    )
    return build_batch(
        [record],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
