"""Decode keys and payloads into text, for dump-log.

These are the decoders of kafka.serializer, and those of DumpLogSegments for Kafka's internal
topics. The records of `__consumer_offsets` and `__transaction_state` are shown as Kafka 2.8.2 shows
them. Kafka 2.0.1 cannot read all records that later releases write to these topics.
"""

import json
import struct
from collections.abc import Callable
from typing import Final

from kafka_edu.coordinator.group.group_metadata import CONSUMER_PROTOCOL_TYPE
from kafka_edu.coordinator.group.group_records import (
    GroupKey,
    OffsetKey,
    read_group_value,
    read_key,
    read_offset_value,
)
from kafka_edu.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from kafka_edu.protocol.messages.transaction_log import (
    TRANSACTION_STATES,
    TransactionLogKey,
    TransactionLogValue,
)
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.record.record import Record
from kafka_edu.tools.dump_log_segments import DumpError, ParseRecord

STRING_DECODER: Final = "kafka.serializer.StringDecoder"
DELETED: Final = "<DELETE>"
_VERSION: Final = struct.Struct(">h")

Decode = Callable[[bytes], str]


def _number(layout: str) -> Decode:
    packed = struct.Struct(layout)

    def decode(data: bytes) -> str:
        if len(data) < packed.size:
            raise DumpError(f"{len(data)} bytes are too few for a number of {packed.size}")
        return str(packed.unpack_from(data)[0])

    return decode


DECODERS: Final[dict[str, Decode]] = {
    STRING_DECODER: lambda data: data.decode("utf-8", "replace"),
    "kafka.serializer.DefaultDecoder": lambda data: data.hex(),
    "kafka.serializer.IntegerDecoder": _number(">i"),
    "kafka.serializer.LongDecoder": _number(">q"),
}


def decoder(name: str) -> Decode:
    """Return one of Kafka's decoders by its class name. Raises DumpError for other Java classes."""
    found = DECODERS.get(name)
    if found is None:
        raise DumpError(f"There is no decoder {name} here, only {', '.join(DECODERS)}")
    return found


def parse_by(key_decoder: Decode, value_decoder: Decode) -> ParseRecord:
    """Return a function that decodes a record's key and payload. The text of a null is None."""

    def parse(record: Record) -> tuple[str | None, str | None]:
        return None if record.key is None else key_decoder(record.key), (
            None if record.value is None else value_decoder(record.value)
        )

    return parse


def parse_offsets(record: Record) -> tuple[str | None, str | None]:
    """Return the key and payload of a record of `__consumer_offsets` as text.

    Raises DumpError, or InvalidRecordError for wrong bytes of a known version.
    """
    if record.key is None:
        raise DumpError(
            "Failed to decode message using offset topic decoder (message had a missing key)"
        )
    match read_key(record.key):
        case OffsetKey() as key:
            group, tp = key
            return (
                f"offset_commit::group={group},partition={tp.topic}-{tp.partition}",
                _offset_text(record.value),
            )
        case GroupKey() as group_id:
            return f"group_metadata::group={group_id}", _group_text(record.value)
        case _:
            raise DumpError(f"Unknown group metadata message version: {_version(record.key)}")


def _offset_text(value: bytes | None) -> str:
    if value is None:
        return DELETED
    committed = read_offset_value(value)
    return f"offset={committed.offset}" + (
        f",metadata={committed.metadata}" if committed.metadata else ""
    )


def _group_text(value: bytes | None) -> str:
    if value is None:
        return DELETED
    group = read_group_value(value)
    assignment = ",".join(
        f"{member.member_id}={_assignment_text(group.protocol_type, member.assignment)}"
        for member in group.members
    )
    shown = {
        "protocolType": group.protocol_type,
        "protocol": group.protocol,
        "generationId": group.generation,
        "assignment": f"{{{assignment}}}",
    }
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False)


def _assignment_text(protocol_type: str, data: bytes) -> str:
    if protocol_type != CONSUMER_PROTOCOL_TYPE:
        return _hexadecimal(data)
    if not data:
        return "[]"
    try:
        assignment = ConsumerProtocolAssignment.decode(data, min(_version(data), 1), _VERSION.size)
    except ProtocolError as error:
        raise DumpError(f"An assignment cannot be read: {error}") from error
    partitions = ", ".join(
        f"{each.topic}-{number}"
        for each in assignment.assigned_partitions
        for number in each.partitions
    )
    return f"[{partitions}]" + (
        f":{_hexadecimal(assignment.user_data)}" if assignment.user_data else ""
    )


def _hexadecimal(data: bytes) -> str:
    """Format the bytes as one hexadecimal number, without leading zeros."""
    return f"{int.from_bytes(data, 'big'):X}" if data else ""


def parse_transaction_log(record: Record) -> tuple[str | None, str | None]:
    """Return the key and payload of a record of `__transaction_state` as text. Raises DumpError."""
    if record.key is None or _version(record.key) != 0:
        raise DumpError(
            f"Unknown version {'' if record.key is None else _version(record.key)} from the"
            " transaction log message"
        )
    try:
        decoded = TransactionLogKey.decode(record.key, 0, _VERSION.size)
        key = f"transaction_metadata::transactionalId={decoded.transactional_id}"
        if record.value is None:
            return key, DELETED
        if _version(record.value) != 0:
            raise DumpError(
                f"Unknown version {_version(record.value)} from the transaction log message value"
            )
        value = TransactionLogValue.decode(record.value, 0, _VERSION.size)
    except ProtocolError as error:
        raise DumpError(f"A record of the transaction log cannot be read: {error}") from error
    partitions = ",".join(
        f"{each.topic}-{number}"
        for each in value.transaction_partitions or ()
        for number in each.partition_ids
    )
    return (
        key,
        (
            f"producerId:{value.producer_id},producerEpoch:{value.producer_epoch},state={TRANSACTION_STATES[value.transaction_status]},"
            f"partitions=[{partitions}],txnLastUpdateTimestamp={value.transaction_last_update_timestamp_ms},txnTimeoutMs={value.transaction_timeout_ms}"
        ),
    )


def _version(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise DumpError("A record without a version")
    version: int = _VERSION.unpack_from(data)[0]
    return version
