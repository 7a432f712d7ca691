"""Control records: the marks that end a transaction in a partition (Kafka: ControlRecordType.java,
EndTransactionMarker.java).

A control batch holds one record. Its key is `version int16, type int16` (0 abort, 1 commit), its
value `version int16, coordinator epoch int32`. Brokers write them; consumers never hand them to the
application; producers that send one are refused.
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
    """How a transaction ended, and the epoch of the coordinator that said so."""

    type: ControlRecordType
    coordinator_epoch: int


def read_end_transaction_marker(batch: Buffer) -> EndTransactionMarker | None:
    """The marker in a control batch; None if compaction has emptied it. Raises InvalidRecordError
    if what is in it is none.
    """
    records = read_records(batch)
    if not records:
        return None
    if records[0].key is None or records[0].value is None:
        raise InvalidRecordError("a control batch without a control record")
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
    """The control batch that ends the transaction of `producer_id`."""
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
