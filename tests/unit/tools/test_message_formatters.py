"""How console-consumer's formatters show a record.

The formatters of internal topics were compared by hand with Kafka's, on one log of 2.0.1.
"""

import struct
from typing import NamedTuple

import pytest

from kafka_edu.protocol.messages.group_metadata_log import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafka_edu.protocol.messages.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.tools.message_formatters import formatter
from kafka_edu.tools.tool import ToolError

OFFSETS = "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter"
GROUPS = "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter"
TRANSACTIONS = "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter"


class Record(NamedTuple):
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    timestamp: int = 123
    timestamp_type: int | None = 0
    topic: str = "t"
    partition: int = 0
    offset: int = 0


def shown(
    record: Record, class_name: str = "kafka.tools.DefaultMessageFormatter", **properties: str
) -> bytes:
    return formatter(
        class_name, {name.replace("_", "."): value for name, value in properties.items()}
    )(record)


def versioned(version: int, message: Message) -> bytes:
    return struct.pack(">h", version) + b"".join(
        bytes(part) for part in message.encode_parts(version)
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("record", "properties", "line"),
    [
        (Record(), {}, b"v\n"),
        (Record(), {"print_key": "true"}, b"k\tv\n"),
        (
            Record(),
            {"print_key": "TRUE", "print_value": "false", "print_timestamp": "true"},
            b"CreateTime:123\tk\n",
        ),
        (
            Record(timestamp_type=1),
            {"print_timestamp": "true", "key_separator": "|", "line_separator": ";"},
            b"LogAppendTime:123|v;",
        ),
        (Record(timestamp_type=None), {"print_timestamp": "true"}, b"NO_TIMESTAMP\tv\n"),
        (Record(key=None, value=None), {"print_key": "true"}, b"null\tnull\n"),
        (Record(), {"print_value": "false"}, b""),
        (
            Record(value=struct.pack(">q", -5)),
            {"value_deserializer": "org.apache.kafka.common.serialization.LongDeserializer"},
            b"-5\n",
        ),
        (Record(value=b"\xff\xfe"), {}, b"\xff\xfe\n"),
    ],
)
def test_the_default_formatter(record: Record, properties: dict[str, str], line: bytes) -> None:
    assert shown(record, **properties) == line


def test_unknown_classes_and_values_that_do_not_fit() -> None:
    with pytest.raises(ToolError, match=r"^com\.example\.Mine$") as unknown:
        shown(Record(), "com.example.Mine")
    assert unknown.value.java_class == "java.lang.ClassNotFoundException"
    with pytest.raises(ToolError, match="Size of data received by IntegerDeserializer is not 4"):
        shown(Record(), value_deserializer="IntegerDeserializer")


def test_committed_offsets() -> None:
    key = versioned(1, OffsetCommitKey(group="g", topic="t", partition=2))
    value = versioned(
        1, OffsetCommitValue(offset=5, metadata="", commit_timestamp=10, expire_timestamp=20)
    )
    assert (
        shown(Record(key, value), OFFSETS)
        == b"[g,t,2]::[OffsetMetadata[5,NO_METADATA],CommitTime 10,ExpirationTime 20]\n"
    )
    assert shown(Record(key, None), OFFSETS) == b"[g,t,2]::NULL\n"
    assert shown(Record(key, value), GROUPS) == b""
    assert shown(Record(None, value), OFFSETS) == b""


def test_groups() -> None:
    member = MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="/127.0.0.1",
        rebalance_timeout=300,
        session_timeout=10,
    )
    key = versioned(2, GroupMetadataKey(group="g"))
    value = versioned(
        1,
        GroupMetadataValue(
            protocol_type="consumer", generation=3, protocol="range", leader="m", members=[member]
        ),
    )
    assert (
        shown(Record(key, value), GROUPS)
        == b"g::GroupMetadata(groupId=g, generation=3, protocolType=Some(consumer),"
        b" currentState=Stable, members=Map(m -> MemberMetadata(memberId=m, clientId=c,"
        b" clientHost=/127.0.0.1, sessionTimeoutMs=10, rebalanceTimeoutMs=300,"
        b" supportedProtocols=List(range), )))\n"
    )
    assert shown(Record(key, value), OFFSETS) == b""


def test_transactions() -> None:
    key = versioned(0, TransactionLogKey(transactional_id="x"))
    value = versioned(
        0,
        TransactionLogValue(
            producer_id=7,
            producer_epoch=1,
            transaction_timeout_ms=60,
            transaction_status=1,
            transaction_partitions=[PartitionsSchema(topic="t", partition_ids=[0, 1])],
            transaction_last_update_timestamp_ms=9,
            transaction_start_timestamp_ms=8,
        ),
    )
    assert (
        shown(Record(key, value), TRANSACTIONS)
        == b"x::TransactionMetadata(transactionalId=x, producerId=7, producerEpoch=1,"
        b" txnTimeoutMs=60, state=Ongoing, pendingState=None, topicPartitions=Set(t-0, t-1),"
        b" txnStartTimestamp=8, txnLastUpdateTimestamp=9)\n"
    )


def test_a_record_of_a_later_version_is_told_as_such() -> None:
    """A later Kafka writes them."""
    key = versioned(0, TransactionLogKey(transactional_id="x"))
    for record in (Record(b"\0\7x"), Record(key, b"\0\1x")):
        with pytest.raises(ToolError, match=r"has the versions 0, not"):
            shown(record, TRANSACTIONS)


def test_a_record_that_is_no_offset_is_told_as_such() -> None:
    with pytest.raises(ToolError):
        shown(Record(b"\0\1\0\5x", b""), OFFSETS)
