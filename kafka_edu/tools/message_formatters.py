"""Kafka's formatters for console-consumer, by the names of their Java classes.

A formatter is a function from a record to the bytes to write, including the end of the line. For an
unknown kind of record, it returns no bytes. (Kafka: ConsoleConsumer.scala,
GroupMetadataManager.scala, TransactionLog.scala)
"""

import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from kafka_edu.protocol.messages.group_metadata_log import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafka_edu.protocol.messages.transaction_log import (
    TRANSACTION_STATES,
    TransactionLogKey,
    TransactionLogValue,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.tools.tool import ToolError

Properties = Mapping[str, str]
M = TypeVar("M", bound=Message)


class Record(NamedTuple):
    """A record as the tool shows it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int | None
    """The timestamp's type: 0 CreateTime, 1 LogAppendTime. None if there is no timestamp."""
    key: bytes | None
    value: bytes | None


Formatter = Callable[[Record], bytes]
_TIMESTAMP_TYPES: Final = {0: "CreateTime", 1: "LogAppendTime"}
_DESERIALIZERS_PACKAGE: Final = "org.apache.kafka.common.serialization."
#: Deserializers of numbers. The bytes are big-endian and of a fixed size.
#:
#: The text is the same as from Java's toString.
_NUMBERS: Final = {
    "IntegerDeserializer": ">i",
    "LongDeserializer": ">q",
    "ShortDeserializer": ">h",
    "FloatDeserializer": ">f",
    "DoubleDeserializer": ">d",
}


def formatter(class_name: str, properties: Properties) -> Formatter:
    """Return the formatter with this class name. Raises ToolError(ClassNotFoundException)."""
    make = _FORMATTERS.get(class_name)
    if make is None:
        raise ToolError("java.lang.ClassNotFoundException", class_name)
    return make(properties)


class DefaultMessageFormatter:
    """Kafka's default formatter.

    Its properties are: print.timestamp, print.key, print.value (default true), key.separator
    (default tab), line.separator, key.deserializer, value.deserializer.
    """

    def __init__(self, properties: Properties) -> None:
        self._timestamp, self._key = (
            _is_true(properties.get(name, "false")) for name in ("print.timestamp", "print.key")
        )
        self._value = _is_true(properties.get("print.value", "true"))
        self._key_separator = properties.get("key.separator", "\t").encode()
        self._line_separator = properties.get("line.separator", "\n").encode()
        self._key_text = deserializer(properties.get("key.deserializer", ""))
        self._value_text = deserializer(properties.get("value.deserializer", ""))

    def __call__(self, record: Record) -> bytes:
        parts = []
        if self._timestamp:
            kind = _TIMESTAMP_TYPES.get(
                -1 if record.timestamp_type is None else record.timestamp_type
            )
            parts.append(f"{kind}:{record.timestamp}".encode() if kind else b"NO_TIMESTAMP")
        if self._key:
            parts.append(self._key_text(b"null" if record.key is None else record.key))
        if self._value:
            parts.append(self._value_text(b"null" if record.value is None else record.value))
        return self._key_separator.join(parts) + self._line_separator if parts else b""


def _is_true(text: str) -> bool:
    return text.strip().lower() == "true"


def deserializer(class_name: str) -> Callable[[bytes], bytes]:
    """Return a function that turns the bytes of a key or value into the bytes to show.

    Raises ToolError(ClassNotFoundException).
    """
    name = class_name.removeprefix(_DESERIALIZERS_PACKAGE)
    if name in ("", "StringDeserializer", "ByteArrayDeserializer", "BytesDeserializer"):
        return bytes
    if name not in _NUMBERS:
        raise ToolError("java.lang.ClassNotFoundException", class_name)
    layout = struct.Struct(_NUMBERS[name])

    def shown(data: bytes) -> bytes:
        if len(data) != layout.size:
            kind = name.removesuffix("Deserializer")
            raise ToolError(
                "org.apache.kafka.common.errors.SerializationException",
                f"Size of data received by {kind}Deserializer is not {layout.size}",
            )
        return str(layout.unpack(data)[0]).encode()

    return shown


def _of_log(read: Callable[[bytes, bytes | None], str]) -> Callable[[Properties], Formatter]:
    """Return a function that makes formatters for the records of an internal topic.

    `read` returns the line for a record's key and value. For a key that it does not know, `read`
    returns "".
    """

    def show(record: Record) -> bytes:
        if record.key is None:
            return b""
        try:
            line = read(record.key, record.value)
        except (ProtocolError, struct.error) as error:
            raise ToolError(
                "org.apache.kafka.common.protocol.types.SchemaException", str(error)
            ) from error
        return f"{line}\n".encode() if line else b""

    return lambda _: show


def _offset_line(key: bytes, value: bytes | None) -> str:
    if _version(key) not in (0, 1):
        return ""
    of = _decoded(OffsetCommitKey, key)
    name = f"[{of.group},{of.topic},{of.partition}]"
    if value is None:
        return f"{name}::NULL"
    committed = _decoded(OffsetCommitValue, value)
    metadata = committed.metadata or "NO_METADATA"
    times = f"CommitTime {committed.commit_timestamp},ExpirationTime {committed.expire_timestamp}"
    return f"{name}::[OffsetMetadata[{committed.offset},{metadata}],{times}]"


def _group_line(key: bytes, value: bytes | None) -> str:
    if _version(key) != 2:
        return ""
    group = _decoded(GroupMetadataKey, key).group
    if value is None:
        return f"{group}::NULL"
    metadata = _decoded(GroupMetadataValue, value)
    state = "Stable" if metadata.members else "Empty"
    members = ", ".join(
        f"{member.member_id} -> {_member(member, metadata.protocol)}" for member in metadata.members
    )
    return (
        f"{group}::GroupMetadata(groupId={group}, generation={metadata.generation},"
        f" protocolType={f'Some({metadata.protocol_type})' if metadata.protocol_type else 'None'},"
        f" currentState={state}, members=Map({members}))"
    )


def _member(member: MemberMetadata, protocol: str | None) -> str:
    return (
        f"MemberMetadata(memberId={member.member_id}, clientId={member.client_id},"
        f" clientHost={member.client_host}, sessionTimeoutMs={member.session_timeout},"
        f" rebalanceTimeoutMs={member.rebalance_timeout},"
        f" supportedProtocols=List({protocol or ''}), )"
    )


def _transaction_line(key: bytes, value: bytes | None) -> str:
    transactional_id = _decoded(TransactionLogKey, key).transactional_id
    if value is None:
        return f"{transactional_id}::NULL"
    txn = _decoded(TransactionLogValue, value)
    partitions = ", ".join(
        f"{part.topic}-{number}"
        for part in txn.transaction_partitions or []
        for number in part.partition_ids
    )
    return (
        f"{transactional_id}::TransactionMetadata(transactionalId={transactional_id},"
        f" producerId={txn.producer_id}, producerEpoch={txn.producer_epoch},"
        f" txnTimeoutMs={txn.transaction_timeout_ms},"
        f" state={TRANSACTION_STATES[txn.transaction_status]}, pendingState=None,"
        f" topicPartitions=Set({partitions}),"
        f" txnStartTimestamp={txn.transaction_start_timestamp_ms},"
        f" txnLastUpdateTimestamp={txn.transaction_last_update_timestamp_ms})"
    )


def _version(data: bytes) -> int:
    return int.from_bytes(data[:2], "big", signed=True)


def _decoded(kind: type[M], data: bytes) -> M:
    version = _version(data)
    if not kind.VALID.has(version):
        raise ProtocolError(f"{kind.__name__} has the versions {kind.VALID}, not {version}")
    return kind.decode(data, version, 2)


_FORMATTERS: Final[Mapping[str, Callable[[Properties], Formatter]]] = {
    "kafka.tools.DefaultMessageFormatter": DefaultMessageFormatter,
    "kafka.tools.LoggingMessageFormatter": DefaultMessageFormatter,
    "kafka.tools.NoOpMessageFormatter": lambda _: lambda _: b"",
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter": _of_log(_offset_line),
    "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter": _of_log(
        _group_line
    ),
    "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter": _of_log(
        _transaction_line
    ),
}
