"""Records of every format and codec. Old and new clients produce them into logs of every format,
and old and new clients fetch them (P6).
"""

import struct
import zlib
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final, NamedTuple

from kafka_edu.protocol.schema import Message
from kafka_edu.record.compression import CompressionType, compress
from kafka_edu.record.legacy import build_message_set, encode_message
from kafka_edu.record.memory_records import build_records
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import TimestampType, build_batch
from tests.conformance.cases.admin_configs import alter
from tests.conformance.cases.basics import (
    NOW,
    batch,
    create,
    damaged,
    epoch_end,
    fetch,
    offsets,
    produce,
)
from tests.conformance.replay import Asker

SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final[dict[str, str]] = {}

#: Stored format → a release that writes this format.
RELEASES: Final = {0: "0.9.0", 1: "0.10.2", 2: "2.8"}
#: By then a change of the topic's configuration has reached the broker.
CHANGE_MS: Final = 1000
OLD_CODECS: Final = (
    CompressionType.NONE,
    CompressionType.GZIP,
    CompressionType.SNAPPY,
    CompressionType.LZ4,
)


class Case(NamedTuple):
    name: str
    request: Message
    versions: tuple[int, ...]


def records(count: int = 3, at: int = NOW) -> list[Record]:
    return [Record(i, at + 10 * i, b"k%d" % i, b"v%d" % i * 4) for i in range(count)]


def with_headers() -> list[Record]:
    return [
        record._replace(headers=(("h", b"%d" % record.offset), ("null", None)))
        for record in records()
    ]


def topic_of(magic: int, name: str = "v") -> str:
    return f"{name}{magic}"


def with_bit(data: bytes, position: int, bit: int) -> bytes:
    """Return an old message with another attribute bit and the checksum that belongs to it."""
    body = bytearray(data[16:])
    body[position - 16] |= bit
    return data[:12] + struct.pack(">I", zlib.crc32(body)) + bytes(body)


def topics() -> Iterator[Case]:
    for magic, release in RELEASES.items():
        for name, configs in {
            "v": {},
            "time": {"message.timestamp.type": "LogAppendTime"},
            "punctual": {"message.timestamp.difference.max.ms": "1000"},
            "keys": {"cleanup.policy": "compact"},
            "small": {"max.message.bytes": "300"},
            "gzip": {"compression.type": "gzip"},
            "plain": {"compression.type": "uncompressed"},
            "zstd": {"compression.type": "zstd"},
            "asis": {"message.downconversion.enable": "false"},
        }.items():
            topic = topic_of(magic, name)
            yield Case(
                f"create {topic}",
                create(topic, configs={"message.format.version": release, **configs}),
                (4,),
            )
    yield Case(
        "create of no release", create("none", configs={"message.format.version": "3.14"}), (4,)
    )


def every_way() -> Iterator[Case]:
    """Yield each format and codec for a log of each format, and then a fetch of the whole log by
    each kind of client.
    """
    for stored in RELEASES:
        topic = topic_of(stored)
        for sent, codec in product(RELEASES, OLD_CODECS):
            versions = (1, 2) if sent < 2 else (2, 3, 7)
            yield Case(
                f"v{sent} {codec.name} into {topic}",
                produce(build_records(records(), sent, codec), topic=topic),
                versions,
            )
        yield Case(
            f"v2 with headers into {topic}",
            produce(build_batch(with_headers()), topic=topic),
            (2, 3),
        )
        yield Case(f"fetch {topic} before there is zstd", fetch(0, topic=topic), (0, 3))
        yield Case(
            f"v2 ZSTD into {topic}",
            produce(batch(2, compression=CompressionType.ZSTD), topic=topic),
            (2, 3, 7),
        )
        yield Case(
            f"one more into {topic}",
            produce(build_records(records(), 1, CompressionType.NONE), topic=topic),
            (2,),
        )
        for offset in (1, 29, 93, 94, 95, 200):
            yield Case(
                f"fetch {topic} from {offset}",
                fetch(offset, topic=topic, size=400),
                (1, 2, 3, 4) if offset == 1 else (1, 3),
            )
        yield Case(f"fetch all of {topic}", fetch(0, topic=topic), (0, 3, 4))
        for size in (0, 1, 17, 60, 150):
            yield Case(
                f"fetch {size} bytes of {topic}", fetch(0, topic=topic, size=size), (0, 2, 3, 4)
            )
        for timestamp in (-2, -1, 0, NOW, NOW + 1, NOW + 20, NOW + 21):
            yield Case(
                f"offsets of {topic} at {timestamp}", offsets(timestamp, topic=topic), (1, 4)
            )
        yield Case(f"the end of epoch 0 in {topic}", epoch_end(0, topic=topic), (3,))


def what_topics_want() -> Iterator[Case]:
    for stored, sent in product(RELEASES, RELEASES):
        version = 2 if sent < 2 else 8
        for codec in (CompressionType.NONE, CompressionType.GZIP):
            for name in ("time", "punctual", "keys", "gzip", "plain", "zstd", "asis"):
                yield Case(
                    f"v{sent} {codec.name} into {name}{stored}",
                    produce(build_records(records(), sent, codec), topic=topic_of(stored, name)),
                    (version,),
                )
        no_key = build_records(
            [Record(i, NOW, b"k" if i == 1 else None, b"v") for i in range(3)],
            sent,
            CompressionType.GZIP,
        )
        yield Case(
            f"v{sent} without a key into keys{stored}",
            produce(no_key, topic=topic_of(stored, "keys")),
            (version,),
        )
        late = build_records([Record(0, -1, b"k", b"v")], sent)
        yield Case(
            f"v{sent} without a time into punctual{stored}",
            produce(late, topic=topic_of(stored, "punctual")),
            (version,),
        )
        large = build_records([Record(i, NOW, None, b"x" * 70) for i in range(3)], sent)
        yield Case(
            f"v{sent} of many bytes into small{stored}",
            produce(large, topic=topic_of(stored, "small")),
            (version,),
        )
        squeezed = build_records(
            [Record(i, NOW, None, b"x" * 400) for i in range(3)], sent, CompressionType.GZIP
        )
        yield Case(
            f"v{sent} of many bytes, squeezed, into small{stored}",
            produce(squeezed, topic=topic_of(stored, "small")),
            (version,),
        )
    for stored, name in product(
        RELEASES, ("time", "punctual", "keys", "small", "gzip", "plain", "zstd", "asis")
    ):
        yield Case(
            f"fetch {name}{stored}",
            fetch(0, topic=topic_of(stored, name)),
            (1, 3, 9, 10) if name in ("zstd", "asis") else (3, 10),
        )
        if name != "time":
            yield Case(
                f"offsets of {name}{stored} at the first time",
                offsets(0, topic=topic_of(stored, name)),
                (1,),
            )


def negative_timestamps() -> Iterator[Case]:
    """Yield records from before 1970. The leader stores them as they are, or with another time, or
    refuses them.
    """
    for stored, (name, configs) in product(
        RELEASES,
        {
            "as-sent": {},
            "by-broker": {"message.timestamp.type": "LogAppendTime"},
            "in-gzip": {"compression.type": "gzip"},
            "in-plain": {"compression.type": "uncompressed"},
        }.items(),
    ):
        topic = topic_of(stored, name)
        yield Case(
            f"create {topic}",
            create(topic, configs={"message.format.version": RELEASES[stored], **configs}),
            (4,),
        )
        for sent, codec, times in product(
            RELEASES,
            (CompressionType.NONE, CompressionType.GZIP),
            ((-5,), (-5, -7), (-1, -5), (7, -5)),
        ):
            early = [Record(i, time, b"k", b"v") for i, time in enumerate(times)]
            yield Case(
                f"v{sent} {codec.name} of {times} into {topic}",
                produce(build_records(early, sent, codec), topic=topic),
                (2 if sent < 2 else 8,),
            )
        yield Case(f"fetch {topic}", fetch(0, topic=topic), (10,))
        for timestamp in (-5, 0, 7) if name != "by-broker" else ():
            yield Case(
                f"offsets of {topic} at {timestamp}", offsets(timestamp, topic=topic), (1, 4)
            )


def what_is_wrong() -> Iterator[Case]:
    for stored in RELEASES:
        topic = topic_of(stored)

        def into(name: str, data: bytes | None, *versions: int, topic: str = topic) -> Case:
            return Case(f"{name} into {topic}", produce(data, topic=topic), versions or (2,))

        for magic in (0, 1):
            whole = build_message_set(records(), magic)
            one = build_message_set(records(1), magic)
            wrapped = build_message_set(records(), magic, CompressionType.GZIP)
            yield into(f"v{magic}", whole, 3, 8)
            yield into(f"v{magic} cut off", one[:-1])
            yield into(f"v{magic} twice, cut off", one + one[:-1])
            yield into(f"v{magic} of a wrong checksum", damaged(whole, 12, b"\0\0\0\0"))
            yield into(f"v{magic} that is too short", damaged(whole, 8, struct.pack(">i", 13)))
            yield into(
                f"v{magic} that is shorter than its fields",
                damaged(one, 8, struct.pack(">i", 14))[:26],
            )
            yield into(f"v{magic} of a negative size", damaged(whole, 8, struct.pack(">i", -5)))
            yield into(f"v{magic} of magic 9", damaged(whole, 16, b"\x09"))
            yield into(f"two wrappers of v{magic}", wrapped + wrapped)
            yield into(f"a message and a wrapper of v{magic}", one + wrapped)
            yield into(f"v{magic} and v{1 - magic}", one + build_message_set(records(1), 1 - magic))
            yield into(f"v{magic} and v2", one + batch(1))
            yield into(f"v2 and v{magic}", batch(1) + one, 2, 3)
            yield into(f"v{magic} of codec 4", encode_message(0, magic, 4, NOW, None, b"x" * 30))
            yield into(f"v{magic} of codec 5", encode_message(0, magic, 5, NOW, None, b"x" * 30))
            yield into(f"v{magic} of garbage", encode_message(0, magic, 1, NOW, None, b"x" * 30))
            yield into(f"v{magic} of nothing", encode_message(0, magic, 1, NOW, None, None))
            yield into(f"v{magic} set of nothing", wrapper(magic, b""))
            yield into(
                f"v{magic} in v{magic}",
                wrapper(magic, build_message_set(records(), magic, CompressionType.GZIP)),
            )
            yield into(
                f"v{1 - magic} in v{magic}", wrapper(magic, build_message_set(records(), 1 - magic))
            )
            yield into(
                f"v{magic} with a wrong checksum inside",
                wrapper(magic, damaged(whole, 12, b"\0\0\0\0")),
            )
            yield into(f"v{magic} cut off inside", wrapper(magic, whole[:-3]))
            yield into(f"v{magic} with offsets that do not ascend", wrapper(magic, one + one + one))
            yield into(
                f"v{magic} with a key on the wrapper",
                encode_message(2, magic, 1, NOW, b"key", compress(CompressionType.GZIP, whole)),
            )
            yield into(f"v{magic} that sets LogAppendTime", with_bit(one, 17, 8))
            yield into(f"v{magic} with unknown attributes", with_bit(one, 17, 0x70))
            yield into(
                f"v{magic} in a wrong lz4 frame",
                encode_message(0, magic, 3, NOW, None, lz4_of_other_checksum(magic, whole)),
            )
        yield into("no bytes", b"", 0, 1, 2)
        yield into("one byte", b"x")
        yield into("a v2 batch of zstd", batch(1, compression=CompressionType.ZSTD), 2)
        yield into("a v2 batch cut off", batch(2)[:-1], 2, 3)
        yield into("two v2 batches", batch(1) * 2, 2, 3)
        yield into("v2 of a wrong checksum", damaged(batch(1), 17, b"\0\0\0\0"), 2, 3)
        yield into(
            "v2 that sets LogAppendTime",
            batch(1, timestamp_type=TimestampType.LOG_APPEND_TIME),
            2,
            3,
        )
        yield into(
            "v2 of an idempotent producer",
            batch(1, producer_id=77, producer_epoch=0, base_sequence=0),
            3,
            8,
        )
        yield into(
            "v2 of a producer without a sequence", batch(1, producer_id=78, producer_epoch=0), 3
        )
        yield into(
            "v2 of a producer without an epoch",
            batch(1, producer_id=79, producer_epoch=-1, base_sequence=0),
            3,
        )
        yield into("v2 of a producer without an epoch or a sequence", batch(1, producer_id=80), 3)
        yield into(
            "v2, shifted and compressed",
            build_batch(shifted(), compression=CompressionType.GZIP),
            3,
        )
        yield into("v2 control batch", batch(1, is_control=True), 3)
        for version in (0, 2, 4):
            yield Case(f"fetch what is left of {topic}", fetch(150, topic=topic), (version,))
            yield Case(f"fetch the last of {topic}", fetch(300, topic=topic), (version,))


def shifted() -> list[Record]:
    """Return records with the offsets 0, 2, 2. The count is right, the offsets are wrong."""
    return [Record(i, NOW, None, b"v") for i in (0, 2, 2)]


def wrapper(magic: int, inner: bytes) -> bytes:
    return encode_message(
        2, magic, CompressionType.GZIP, NOW, None, compress(CompressionType.GZIP, inner)
    )


def lz4_of_other_checksum(magic: int, inner: bytes) -> bytes:
    """Return a message whose LZ4 frame has the header checksum of the other format: v1's in v0,
    v0's in v1.
    """
    return compress(CompressionType.LZ4, inner, 1 - magic)


def ask_while_the_format_changes(asker: Asker) -> None:
    """Change the message format of one log step by step, up and back down."""
    asker.ask("create mixed", create("mixed", configs={"message.format.version": "0.9.0"}), 4)
    for step, (release, magic) in enumerate(
        (("0.9.0", 0), ("0.10.2", 1), ("2.8", 2), ("0.10.2", 1), ("2.8", 2))
    ):
        if step:
            asker.ask(
                f"alter mixed to {release}",
                alter(2, "mixed", ("message.format.version", release)),
                0,
            )
            asker.pause(CHANGE_MS)
        for codec in (CompressionType.NONE, CompressionType.LZ4):
            asker.ask(
                f"v{magic} {codec.name} into mixed",
                produce(build_records(records(), magic, codec), topic="mixed"),
                3 if magic == 2 else 2,
                decoded=True,
            )
        for version in (1, 3, 4):
            asker.ask(f"fetch mixed, now {release}", fetch(0, topic="mixed"), version, decoded=True)
        for version in (1, 4):
            asker.ask(f"offsets of mixed, now {release}", offsets(NOW + 20, topic="mixed"), version)
        asker.ask(f"the end of epoch 0 in mixed, now {release}", epoch_end(0, topic="mixed"), 3)


def ask_all(asker: Asker) -> None:
    _ask(asker, (*topics(), *every_way(), *what_topics_want(), *what_is_wrong()))
    ask_while_the_format_changes(asker)
    _ask(asker, negative_timestamps())


def _ask(asker: Asker, cases: Iterable[Case]) -> None:
    for case in cases:
        for version in case.versions:
            asker.ask(case.name, case.request, version, decoded=True)
