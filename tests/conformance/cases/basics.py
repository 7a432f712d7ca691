"""Produce, fetch, offsets, metadata, epochs, producer ids and CreateTopics: valid and invalid
requests, and frames that are not requests.
"""

import struct
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import google_crc32c

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafka_edu.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_edu.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_edu.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from tests.conformance.replay import Asker

TOPIC: Final = "t"
NOW: Final = 1_700_000_000_000
SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final = {
    "create with default numbers, CreateTopicsRequest v7": (
        "defaults are 2.0.1's: max.message.bytes 1000012, message.format.version 2.0-IV1"
    ),
}
"""Name and version of a request → why the answers differ."""


class Case(NamedTuple):
    name: str
    request: Message
    versions: tuple[int, ...]


def batch(count: int, at: int = NOW, **more: Any) -> bytes:
    return build_batch([Record(i, at + i, b"k%d" % i, b"v%d" % i) for i in range(count)], **more)


def damaged(data: bytes, position: int, value: bytes) -> bytes:
    return data[:position] + value + data[position + len(value) :]


def resealed(data: bytes) -> bytes:
    """Return the batch with a correct checksum."""
    return damaged(data, 17, google_crc32c.value(data[21:]).to_bytes(4, "big"))


def produce(
    records: bytes | None, *, topic: str = TOPIC, partition: int = 0, acks: int = 1
) -> ProduceRequest:
    entry = PartitionProduceData(index=partition, records=records)
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name=topic, partition_data=[entry])],
    )


def fetch(
    offset: int, *, topic: str = TOPIC, partition: int = 0, size: int = 1 << 20, **more: Any
) -> FetchRequest:
    entry = FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=size, log_start_offset=-1
    )
    for name in ("current_leader_epoch", "last_fetched_epoch"):
        if name in more:
            setattr(entry, name, more.pop(name))
    common = {"replica_id": -1, "max_wait_ms": 50, "min_bytes": 1} | more
    return FetchRequest(topics=[FetchTopic(topic=topic, partitions=[entry])], **common)


def offsets(
    timestamp: int,
    *,
    topic: str = TOPIC,
    partition: int = 0,
    epoch: int = -1,
    isolation_level: int = 0,
    most: int = 1,
) -> ListOffsetsRequest:
    entry = ListOffsetsPartition(
        partition_index=partition,
        timestamp=timestamp,
        current_leader_epoch=epoch,
        max_num_offsets=most,
    )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=topic, partitions=[entry])],
    )


def metadata(*names: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])


def epoch_end(
    epoch: int, *, topic: str = TOPIC, partition: int = 0, current: int = -1
) -> OffsetForLeaderEpochRequest:
    entry = OffsetForLeaderPartition(
        partition=partition, leader_epoch=epoch, current_leader_epoch=current
    )
    return OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic, partitions=[entry])]
    )


def create(
    name: str,
    *,
    partitions: int = 1,
    factor: int = 1,
    configs: dict[str, str | None] | None = None,
    **more: Any,
) -> CreateTopicsRequest:
    assignments = [
        CreatableReplicaAssignment(partition_index=i, broker_ids=ids)
        for i, ids in more.pop("assignments", {}).items()
    ]
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=assignments,
        configs=[
            CreateableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
        ],
    )
    return CreateTopicsRequest(
        topics=[topic], timeout_ms=2_000, validate_only=bool(more.get("validate_only", False))
    )


def cases() -> Iterator[Case]:
    yield Case("create", create(TOPIC), (4,))
    yield Case("create again", create(TOPIC), (0, 1, 4, 7))
    for name in ("", ".", "..", "a b", "ü", "x" * 250):
        yield Case(f"create the topic {name[:9]!r}", create(name), (4, 7))
    yield Case("create a name that collides", create("a.b"), (4,))
    yield Case("create the name it collides with", create("a_b"), (4,))
    yield Case("create with no partitions", create("n", partitions=0), (1, 4))
    yield Case("create with -2 partitions", create("n", partitions=-2), (4,))
    yield Case(
        "create with default numbers",
        create("d", partitions=-1, factor=-1, validate_only=True),
        (4, 7),
    )
    yield Case("create with too many replicas", create("n", factor=2), (1, 4))
    yield Case("create with no replicas", create("n", factor=0), (1, 4))
    yield Case("create with an unknown config", create("n", configs={"no.such.key": "1"}), (1, 4))
    yield Case("create with a wrong value", create("n", configs={"retention.ms": "soon"}), (1, 4))
    yield Case(
        "create with a value out of range", create("n", configs={"min.insync.replicas": "0"}), (4,)
    )
    yield Case("create with assignment and numbers", create("n", assignments={0: [0]}), (4,))
    yield Case(
        "create on an unknown broker",
        create("n", partitions=-1, factor=-1, assignments={0: [7]}),
        (4,),
    )
    yield Case(
        "create on a broker twice",
        create("n", partitions=-1, factor=-1, assignments={0: [0, 0]}),
        (4,),
    )
    yield Case(
        "create with a hole", create("n", partitions=-1, factor=-1, assignments={1: [0]}), (4,)
    )
    yield Case(
        "create a compacted topic", create("compacted", configs={"cleanup.policy": "compact"}), (4,)
    )
    yield Case(
        "create a punctual topic",
        create("punctual", configs={"message.timestamp.difference.max.ms": "1000"}),
        (4,),
    )
    yield Case(
        "create a topic of small records",
        create("small", configs={"max.message.bytes": "100"}),
        (4,),
    )
    yield Case(
        "only asked", create("n", configs={"retention.ms": "1000"}, validate_only=True), (4,)
    )

    yield Case("all topics", MetadataRequest(topics=None), (1, 4, 7, 9, 11))
    yield Case("no topics", MetadataRequest(topics=[]), (1, 8, 9))
    yield Case("a topic", metadata(TOPIC), tuple(range(12)))
    yield Case("unknown topics", metadata("nope", "a b", ""), (0, 1, 4, 9))
    yield Case(
        "who may",
        MetadataRequest(
            topics=None,
            include_cluster_authorized_operations=True,
            include_topic_authorized_operations=True,
        ),
        (8, 10),
    )

    good = batch(3)
    yield Case("produce", produce(good), tuple(range(3, 10)))
    yield Case("produce with acks=all", produce(good, acks=-1), (7,))
    yield Case("produce with acks=2", produce(good, acks=2), (3, 7))
    yield Case("produce to an unknown topic", produce(good, topic="nope"), (3, 8))
    yield Case("produce to an unknown partition", produce(good, partition=1), (3, 8))
    yield Case("produce to a bad name", produce(good, topic="a b"), (7,))
    yield Case("produce compressed", produce(batch(3, compression=CompressionType.GZIP)), (3, 8))
    yield Case("produce zstd", produce(batch(3, compression=CompressionType.ZSTD)), (3, 7))
    yield Case("a wrong checksum", produce(damaged(good, 17, b"\0\0\0\0")), (3, 7, 8))
    yield Case("magic 7", produce(damaged(good, 16, b"\7")), (3, 8))
    yield Case("a batch cut short", produce(good[:-5]), (3, 8))
    yield Case("a header cut short", produce(good[:30]), (3, 8))
    yield Case(
        "a batch that is too long", produce(damaged(good, 8, struct.pack(">i", 10_000))), (3, 8)
    )
    yield Case("a negative length", produce(damaged(good, 8, struct.pack(">i", -1))), (3, 8))
    yield Case("two batches", produce(good + good), (3, 8))
    yield Case("no records", produce(b""), (3, 8))
    yield Case("a base offset", produce(damaged(good, 0, struct.pack(">q", 7))), (3, 8))
    yield Case(
        "a last offset that is too large",
        produce(resealed(damaged(good, 23, struct.pack(">i", 5)))),
        (3, 8),
    )
    yield Case(
        "a last offset that is negative",
        produce(resealed(damaged(good, 23, struct.pack(">i", -1)))),
        (8,),
    )
    yield Case("a count of none", produce(resealed(damaged(good, 57, struct.pack(">i", 0)))), (8,))
    yield Case(
        "a control batch",
        produce(build_batch([Record(0, NOW, b"\0\0\0\0", b"")], is_control=True)),
        (3, 8),
    )
    yield Case(
        "larger than max.message.bytes",
        produce(build_batch([Record(0, NOW, None, b"x" * 101)]), topic="small"),
        (3, 8),
    )
    yield Case(
        "an unknown producer's second sequence",
        produce(batch(2, producer_id=4711, producer_epoch=0, base_sequence=5)),
        (3, 8),
    )
    yield Case(
        "a producer's first",
        produce(batch(2, producer_id=4712, producer_epoch=0, base_sequence=0)),
        (8,),
    )
    yield Case(
        "and again", produce(batch(2, producer_id=4712, producer_epoch=0, base_sequence=0)), (8,)
    )
    yield Case(
        "and with a gap",
        produce(batch(2, producer_id=4712, producer_epoch=0, base_sequence=9)),
        (8,),
    )
    yield Case(
        "and with an older epoch",
        produce(batch(1, producer_id=4713, producer_epoch=3, base_sequence=0)),
        (8,),
    )
    yield Case(
        "of a fenced epoch",
        produce(batch(1, producer_id=4713, producer_epoch=2, base_sequence=1)),
        (8,),
    )

    without_key = build_batch([Record(i, NOW, b"k" if i == 1 else None, b"v") for i in range(3)])
    yield Case("no key in a compacted topic", produce(without_key, topic="compacted"), (3, 7, 8, 9))
    yield Case("a time that is too far off", produce(batch(3), topic="punctual"), (3, 7, 8, 9))

    for version in range(4, 13):
        yield Case("fetch from the beginning", fetch(0), (version,))
    yield Case("fetch from the middle of a batch", fetch(1), (4, 11))
    yield Case("fetch one batch though it is large", fetch(0, size=10), (4, 11))
    yield Case("fetch at the end", fetch(10_000), (4, 11, 12))
    yield Case("fetch from a negative offset", fetch(-1), (4, 11))
    yield Case("fetch an unknown topic", fetch(0, topic="nope"), (4, 11))
    yield Case("fetch an unknown partition", fetch(0, partition=1), (4, 11))
    yield Case("fetch with a newer leader epoch", fetch(0, current_leader_epoch=9), (9, 11))
    yield Case("fetch with the leader's epoch", fetch(0, current_leader_epoch=0), (9, 12))
    yield Case("fetch after an epoch that was never", fetch(0, last_fetched_epoch=5), (12,))
    yield Case("fetch read_committed", fetch(0, isolation_level=1), (4, 11))
    yield Case("fetch in a session that is none", fetch(0, session_id=77, session_epoch=1), (7, 11))
    yield Case("fetch that opens a session", fetch(0, session_epoch=0), (7, 11))
    yield Case("fetch as a stranger's replica", fetch(0, replica_id=5), (4, 11))
    yield Case("fetch as a debugger", fetch(0, replica_id=-2), (4, 11))
    yield Case(
        "fetch nothing", FetchRequest(replica_id=-1, max_wait_ms=10, min_bytes=1, topics=[]), (4, 7)
    )

    for timestamp in (-1, -2, 0, NOW, NOW + 1, NOW + 10_000_000):
        yield Case(
            f"offsets at {timestamp - NOW if timestamp > 0 else timestamp}",
            offsets(timestamp),
            tuple(range(1, 7)),
        )
    for timestamp in (-1, -2):
        yield Case(f"old offsets at {timestamp}", offsets(timestamp, most=5), (0,))
    yield Case("offsets of an unknown topic", offsets(-1, topic="nope"), (0, 1, 5))
    yield Case("offsets of an unknown partition", offsets(-1, partition=3), (1, 5))
    yield Case("offsets with a newer epoch", offsets(-1, epoch=4), (4, 6))
    yield Case("offsets at time -7", offsets(-7), (1, 6))
    yield Case("committed offsets", offsets(-1, isolation_level=1), (2, 6))

    for epoch in (-1, 0, 1):
        yield Case(f"the end of epoch {epoch}", epoch_end(epoch), (0, 2, 3, 4))
    yield Case("the end in an unknown topic", epoch_end(0, topic="nope"), (0, 3))
    yield Case("the end with a newer leader epoch", epoch_end(0, current=6), (2, 4))

    yield Case(
        "a producer id",
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000),
        (0, 1, 2, 3, 4),
    )
    yield Case(
        "an empty transactional id",
        InitProducerIdRequest(transactional_id="", transaction_timeout_ms=60_000),
        (1, 4),
    )


def wrong_frames() -> Iterator[tuple[str, bytes]]:
    """Yield frames that no client should send, each with a name."""

    def frame(body: bytes) -> bytes:
        return struct.pack(">i", len(body)) + body

    def header(key: int, version: int) -> bytes:
        return struct.pack(">hhih", key, version, 1, -1)

    yield "a negative size", struct.pack(">i", -1)
    yield "a size above socket.request.max.bytes", struct.pack(">i", 104_857_601)
    yield "size 0", struct.pack(">i", 0)
    yield "an unknown key", frame(header(999, 0))
    yield "a negative key", frame(header(-1, 0))
    yield "Metadata of an unknown version", frame(header(ApiKey.METADATA, 99))
    yield "Metadata of version -1", frame(header(ApiKey.METADATA, -1))
    yield "Produce that ends early", frame(header(ApiKey.PRODUCE, 3) + b"\xff\xff\0")
    yield (
        "Metadata that names 2^31-1 topics",
        frame(header(ApiKey.METADATA, 1) + struct.pack(">i", 0x7FFFFFFF)),
    )
    yield "a header cut short", frame(struct.pack(">hh", 3, 1))
    yield "ApiVersions of a version to come", frame(header(ApiKey.API_VERSIONS, 42))
    yield (
        "bytes behind the request",
        frame(header(ApiKey.METADATA, 1) + struct.pack(">i", 0) + b"more"),
    )


def ask_all(asker: Asker) -> None:
    for case in cases():
        for version in case.versions:
            asker.ask(case.name, case.request, version)
    for name, frame in wrong_frames():
        asker.ask_raw(name, frame)
