"""Values at the limits of a field: lengths, sizes, epochs, isolation levels, timestamps, and ids
that do not exist.
"""

import struct
import uuid
from collections.abc import Iterator
from typing import Final

from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_edu.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_edu.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_edu.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafka_edu.protocol.messages.produce import ProduceRequest
from kafka_edu.protocol.types import unsigned_varint
from kafka_edu.record.compression import CompressionType, compress
from kafka_edu.record.legacy import build_message_set
from kafka_edu.record.record import Record, encode_records
from kafka_edu.record.record_batch import BatchHeader, assemble_batch
from tests.conformance.cases.basics import (
    NOW,
    batch,
    create,
    damaged,
    epoch_end,
    fetch,
    offsets,
    produce,
    resealed,
)
from tests.conformance.cases.offsets import commit
from tests.conformance.cases.offsets import fetch as fetch_committed
from tests.conformance.replay import Asker

SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final = {
    f"a varint that does not end, {codec}, ProduceRequest v{version}": (
        "INVALID_RECORD: it is the producer's error"
    )
    for codec in ("NONE", "GZIP")
    for version in (5, 9)
}
EDGES: Final = (-(2**31), -2, -1, 0, 1)
#: Compact lengths. Read as Java's int, the first two are below null's -1, and the other two are
#: not.
LENGTHS: Final = {
    "-2": unsigned_varint(2**32 - 1),
    "-(2**31)": unsigned_varint(2**31 + 1),
    "2**31-1 by overflow": unsigned_varint(2**31),
    "2**31-2": unsigned_varint(2**31 - 1),
}
#: A Fetch v12 up to its tagged fields: replica, wait time, smallest and largest size, isolation
#: level, session and its epoch, topics, forgotten topics, rack.
FETCH_OF_NOTHING: Final = struct.pack(">iiiibii", -1, 10, 1, 1000, 0, 0, -1) + b"\1\1\1"


def ask_all(asker: Asker) -> None:
    asker.ask("create", create("t", partitions=3), 4)
    for partition in (0, 1):
        asker.ask("produce", produce(batch(3), partition=partition), 7)
    _features(asker)
    _compact_lengths(asker)
    _tags(asker)
    _metadata(asker)
    _refused_records(asker)
    _broken_records(asker)
    _stored_times(asker)
    _limits(asker)
    _isolation(asker)
    _epochs(asker)
    _old_offsets(asker)


def _features(asker: Asker) -> None:
    for name, version in (
        ("somebody", "1.0"),
        ("", ""),
        ("a-", "1"),
        ("-a", "1"),
        ("a b", "1"),
        ("a", "1."),
        ("a.b-c", "1-SNAPSHOT.2"),
        ("ä", "1"),
    ):
        asker.ask(
            f"as {name!r} {version!r}",
            ApiVersionsRequest(client_software_name=name, client_software_version=version),
            3,
        )
    for version in range(3):
        asker.ask("versions", ApiVersionsRequest(), version)


def _compact_lengths(asker: Asker) -> None:
    for length, said in LENGTHS.items():
        asker.ask_body(f"topics of length {length}", MetadataRequest, 9, said + b"\0\0\0\0")
        asker.ask_body(
            f"a transactional id of length {length}",
            ProduceRequest,
            9,
            said + struct.pack(">hi", 1, 1000) + b"\1\0",
        )
        asker.ask_body(f"a group of length {length}", OffsetFetchRequest, 6, said + b"\1\0")
        asker.ask_body(
            f"groups' topics of length {length}", OffsetFetchRequest, 6, b"\2g" + said + b"\0"
        )
        asker.ask_body(
            f"a name of length {length}",
            MetadataRequest,
            10,
            b"\2" + bytes(16) + said + b"\0\1\0\0\0",
        )
    for length in (-2, -32768):
        body = struct.pack(">h", length) + struct.pack(">hii", 1, 1000, 0)
        asker.ask_body(f"an old transactional id of length {length}", ProduceRequest, 8, body)
    for length in (-2, -(2**31)):
        asker.ask_body(
            f"old topics of length {length}",
            MetadataRequest,
            8,
            struct.pack(">i", length) + b"\0\0\0",
        )
        asker.ask_body(
            f"topics of length {length} where none may be null",
            MetadataRequest,
            0,
            struct.pack(">i", length),
        )


def _tags(asker: Asker) -> None:
    """Send counts and sizes of tagged fields that are negative when they are read as Java's int."""
    for number, said in LENGTHS.items():
        head = struct.pack(">hhih", 18, 3, 1, -1) + said
        asker.ask_raw(
            f"{number} less 1 tags in the header",
            struct.pack(">i", len(head) + 5) + head + b"\2a\2a\0",
        )
        asker.ask_body(f"{number} less 1 tags", MetadataRequest, 9, b"\1\0\0\0" + said)
        asker.ask_body(
            f"a tag of {number} less 1 bytes", MetadataRequest, 9, b"\1\0\0\0\1\5" + said
        )
        asker.ask_body(f"tag {number} less 1", MetadataRequest, 9, b"\1\0\0\0\1" + said + b"\0")
        asker.ask_body(
            f"{number} less 1 tags where some are known", FetchRequest, 12, FETCH_OF_NOTHING + said
        )
        asker.ask_body(
            f"a known tag of {number} less 1 bytes",
            FetchRequest,
            12,
            FETCH_OF_NOTHING + b"\1\0" + said,
        )
    for name, cluster in {
        "null": b"\0",
        "empty": b"\1",
        "some": b"\2a",
        "-2": LENGTHS["-2"],
    }.items():
        asker.ask_body(
            f"{name} as cluster id",
            FetchRequest,
            12,
            FETCH_OF_NOTHING + b"\1\0" + bytes([len(cluster)]) + cluster,
        )
        asker.ask_body(
            f"{name} as cluster id, of another size",
            FetchRequest,
            12,
            FETCH_OF_NOTHING + b"\1\0\7" + cluster + b"123456",
        )
        asker.ask_body(
            f"{name} as cluster id, twice",
            FetchRequest,
            12,
            FETCH_OF_NOTHING + b"\2" + (b"\0" + bytes([len(cluster)]) + cluster) * 2,
        )


def _metadata(asker: Asker) -> None:
    topic_id, nobody = uuid.UUID(int=4711), uuid.UUID(int=0)
    for version in (10, 11):
        for name, asked in {
            "an unknown id": [MetadataRequestTopic(topic_id=topic_id, name=None)],
            "an unknown id and a name": [MetadataRequestTopic(topic_id=topic_id, name="t")],
            "an unknown id and an empty name": [MetadataRequestTopic(topic_id=topic_id, name="")],
            "neither id nor name": [MetadataRequestTopic(topic_id=nobody, name=None)],
            "a name and then an unknown id": [
                MetadataRequestTopic(name="t"),
                MetadataRequestTopic(topic_id=topic_id, name=None),
            ],
        }.items():
            asker.ask(f"metadata of {name}", MetadataRequest(topics=asked), version)
    for version in (0, 1, 4, 9, 11):
        twice = [
            MetadataRequestTopic(name="t"),
            MetadataRequestTopic(name="t"),
            MetadataRequestTopic(name="nope"),
        ]
        asker.ask("metadata of one topic twice", MetadataRequest(topics=twice), version)


def _refused_records(asker: Asker) -> None:
    asker.ask("create small", create("small", configs={"max.message.bytes": "100"}), 4)
    good = batch(3)
    for version in range(3, 10):
        for name, records in {
            "no records": b"",
            "two batches": good + good,
            "a v1 message": build_message_set([Record(0, NOW, None, b"v")], 1),
            "a base offset": damaged(good, 0, struct.pack(">q", 7)),
            "a wrong checksum": damaged(good, 17, bytes(4)),
            "a count of none": resealed(damaged(good, 57, struct.pack(">i", 0))),
            "zstd": batch(3, compression=CompressionType.ZSTD),
        }.items():
            asker.ask(f"refused for {name}", produce(records), version)
        asker.ask("refused as too large", produce(batch(9), topic="small"), version)


def _broken_records(asker: Asker) -> None:
    """Send batches whose checksum is correct but whose records cannot be read, to a log that does
    not start at 0.
    """
    asker.ask("create broken", create("broken"), 4)
    asker.ask("produce", produce(batch(3), topic="broken"), 7)
    wanted = DeleteRecordsPartition(partition_index=0, offset=2)
    asker.ask(
        "delete",
        DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name="broken", partitions=[wanted])], timeout_ms=5000
        ),
        1,
    )
    for codec in (CompressionType.NONE, CompressionType.GZIP):
        for name, body, count in _bodies():
            sent = assemble_batch(
                compress(codec, body) if codec else body,
                BatchHeader(0, 0, -1, 2, 0, int(codec), count - 1, NOW, NOW, -1, -1, -1, count),
            )
            for version in (5, 9):
                asker.ask(f"{name}, {codec.name}", produce(sent, topic="broken"), version)


def _bodies() -> Iterator[tuple[str, bytes, int]]:
    good = encode_records([Record(i, NOW, b"k", b"v") for i in range(2)], 0, NOW)
    one = good[: len(good) // 2]
    yield "bytes behind the records", good + b"more", 2
    yield "fewer records than told", good, 3
    yield "more records than told", good, 1
    yield "a record cut short", good[:-2], 2
    yield "a record of length 0", b"\0" + good, 3
    yield "a record of negative length", b"\1" + one, 2
    yield "a record longer than it is", bytes([one[0] + 2]) + one[1:] + one, 2
    yield "a record shorter than it is", bytes([one[0] - 2]) + one[1:] + one, 2
    yield "a key longer than its record", one[:4] + b"\x40" + one[5:] + one, 2
    yield "a key of length -2", one[:4] + b"\3" + one[5:], 1
    yield "headers that are not there", one[:-1] + b"\x40" + one, 2
    yield "a negative number of headers", one[:-1] + b"\1" + one, 2
    yield "nothing", b"", 1
    yield "a varint that does not end", b"\xff" * 12, 1
    yield "offsets that do not ascend", one + one, 2
    yield "attributes that nobody knows", one[:1] + b"\xff" + one[2:], 1


def _stored_times(asker: Asker) -> None:
    """Send batches whose header holds other timestamps than their records, to logs of both
    timestamp types. The answers show which timestamps are stored.
    """
    asker.ask("create time", create("time", configs={"message.timestamp.type": "LogAppendTime"}), 4)
    asker.ask("create keyed", create("keyed", configs={"cleanup.policy": "compact"}), 4)
    asker.ask(
        "create checked",
        create("checked", configs={"message.timestamp.difference.max.ms": str(10**13)}),
        4,
    )
    good = batch(3)
    offset = dict.fromkeys(("t", "time", "keyed", "checked"), 0)
    for magic, codec in (
        (0, CompressionType.NONE),
        (0, CompressionType.GZIP),
        (1, CompressionType.NONE),
        (1, CompressionType.GZIP),
    ):
        old = build_message_set(
            [Record(i, NOW + 10 * i, b"k", b"v") for i in range(3)], magic, codec
        )
        for topic in offset:
            asker.ask(
                f"v{magic} {codec.name} into {topic}", produce(old, topic=topic, partition=0), 2
            )
    for latest in (0, NOW - 5, NOW + 1, NOW + 2, NOW + 99, -1, -2):
        sent = resealed(damaged(good, 35, struct.pack(">q", latest)))
        for topic in offset:
            asker.ask(
                f"a latest time of {latest - NOW if latest > 0 else latest} into {topic}",
                produce(sent, topic=topic),
                8,
            )
        packed = resealed(
            damaged(batch(3, compression=CompressionType.GZIP), 35, struct.pack(">q", latest))
        )
        asker.ask(
            f"a latest time of {latest - NOW if latest > 0 else latest}, packed",
            produce(packed, topic="keyed"),
            8,
        )
    for topic in offset:
        asker.ask(f"what is in {topic}", fetch(0, topic=topic), 11, decoded=True)
        asker.ask(f"what is in {topic}, for old consumers", fetch(0, topic=topic), 3, decoded=True)
        if topic != "time":
            asker.ask(f"offsets by time in {topic}", offsets(NOW + 1, topic=topic), 5)


def _fetch_many(sizes: dict[int, int], max_bytes: int = 1 << 20, **more: int) -> FetchRequest:
    wanted = [
        FetchPartition(partition=p, fetch_offset=0, partition_max_bytes=size, log_start_offset=-1)
        for p, size in sizes.items()
    ]
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=20,
        min_bytes=1,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic="t", partitions=wanted)],
        **more,
    )


def _limits(asker: Asker) -> None:
    for version in (0, 2, 3, 4, 11, 12):
        for size in EDGES:
            asker.ask(
                f"fetch with at most {size} of the first",
                _fetch_many({0: size, 1: 1 << 20, 2: 100, 7: 100}),
                version,
            )
            asker.ask(
                f"fetch with at most {size} of the second",
                _fetch_many({0: 1 << 20, 1: size, 2: 100}),
                version,
            )
            asker.ask(
                f"fetch with at most {size} of the empty one",
                _fetch_many({0: 1 << 20, 2: size}),
                version,
            )
            asker.ask(
                f"fetch with at most {size} of the empty one alone", _fetch_many({2: size}), version
            )
            if version >= 3:
                asker.ask(
                    f"fetch with at most {size} of all",
                    _fetch_many({0: 1 << 20, 1: 1 << 20, 2: 100}, size),
                    version,
                )
                asker.ask(
                    f"fetch with at most {size} of the empty one and of all",
                    _fetch_many({2: 100}, size),
                    version,
                )


def _isolation(asker: Asker) -> None:
    for level in (-128, -1, 2, 3, 127):
        for version in (4, 11, 12):
            asker.ask(
                f"fetch with isolation level {level}", fetch(0, isolation_level=level), version
            )
        for version in (2, 5, 6):
            asker.ask(
                f"offsets with isolation level {level}", offsets(-1, isolation_level=level), version
            )


def _epochs(asker: Asker) -> None:
    for epoch in (-(2**31), -3, -2, -1, 0, 1, 2**31 - 1):
        for version in (4, 5, 6):
            for timestamp in (-1, -2, NOW):
                asker.ask(
                    f"offsets at {timestamp} with leader epoch {epoch}",
                    offsets(timestamp, epoch=epoch),
                    version,
                )
        for version in (9, 11, 12):
            asker.ask(
                f"fetch with leader epoch {epoch}", fetch(0, current_leader_epoch=epoch), version
            )
        for version in (2, 3, 4):
            asker.ask(f"the end with leader epoch {epoch}", epoch_end(0, current=epoch), version)
            asker.ask(f"the end of epoch {epoch}", epoch_end(epoch), version)
        asker.ask(f"fetch after epoch {epoch}", fetch(0, last_fetched_epoch=epoch), 12)
        asker.ask(f"fetch the end after epoch {epoch}", fetch(10_000, last_fetched_epoch=epoch), 12)


def _old_offsets(asker: Asker) -> None:
    for most in (-1, 0, 1, 5):
        for timestamp in (-1, -2, 0, 2**62):
            asker.ask(
                f"at most {most} old offsets at {timestamp}", offsets(timestamp, most=most), 0
            )
    for version in (0, 1, 4, 6):
        for replica in (-3, -2, 0, 7):
            entry = ListOffsetsPartition(
                partition_index=0, timestamp=-1, current_leader_epoch=-1, max_num_offsets=1
            )
            asker.ask(
                f"offsets as replica {replica}",
                ListOffsetsRequest(
                    replica_id=replica, topics=[ListOffsetsTopic(name="t", partitions=[entry])]
                ),
                version,
            )
        asker.ask("offsets of nothing", ListOffsetsRequest(replica_id=-1, topics=[]), version)
        asker.ask(
            "offsets of a topic without partitions",
            ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t")]),
            version,
        )
        asker.ask("offsets of a negative partition", offsets(-1, partition=-1), version)
    for version in (0, 3, 4):
        asker.ask(
            "the ends of nothing", OffsetForLeaderEpochRequest(replica_id=-1, topics=[]), version
        )
    for version in (0, 1, 2, 5, 7):
        for group in ("nobody", "", "a/b", "a//b", "/", "..", "a/../b", "a\0"):
            if version == 0:
                asker.ask(f"commit to {group!r}", commit(group, 4), 0)
            asker.ask(
                f"committed by {group!r}",
                fetch_committed(group, {"t": [0, -1, 9], "nope": [0]}),
                version,
            )
