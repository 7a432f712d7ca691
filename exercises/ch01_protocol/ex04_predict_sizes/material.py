"""The questions of exercise 01-4 about sizes of batches and frames, with each learner's numbers."""

from random import Random
from typing import Final, NamedTuple

from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.headers import encode_request
from kafka_edu.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import HEADER_BYTES, build_batch

PRODUCE_VERSION: Final = 7
FETCH_VERSION: Final = 8
NOW: Final = 1_600_000_000_000
QUESTIONS: Final = """\
# 01-4: your numbers

A producer that calls itself `{client}` has {records} records for partition 0 of
the topic `{topic}`. Each has a value of {value_bytes} bytes, no key (null) and no
headers, and all have the same timestamp. Nothing is compressed, and there is no
transaction.

1. `batch_of_one`: how long is a batch with only one of these records?
2. `batch_of_all`: how long is one batch with all {records}?
3. `produce`: how long is the Produce request, version 7, with that batch of all?

A follower that calls itself `{follower}` fetches {partitions} partitions, 0 to
{last}, of the topic `{topic}`, by Fetch version 8. There is a fetch session.

4. `fetch_full`: how long is its first fetch, the full one?
5. `fetch_nothing`: how long is a fetch when nothing has changed?
6. `fetch_changes`: how long is one where {moved} partitions have moved, and {forgotten} others are
   forgotten?

All answers are numbers of bytes on the wire. Nothing is left out.
"""


class Plan(NamedTuple):
    """The numbers and names in the questions. The seed determines them."""

    client: str
    topic: str
    records: int
    value_bytes: int
    follower: str
    partitions: int
    moved: int
    forgotten: int


class Part(NamedTuple):
    """The size in bytes of one part of an answer, and the name of this part."""

    size: int
    what: str


def plan(seed: int) -> Plan:
    """Return the numbers and names that the seed determines."""
    random = Random(seed)
    return Plan(
        random.choice(("shop", "web", "orders", "billing")),
        random.choice(("log", "sales", "visits", "payments")),
        random.randint(70, 400),
        random.choice((random.randint(20, 50), random.randint(58, 63), random.randint(64, 150))),
        f"broker-{random.randint(1, 40)}-fetcher-0",
        random.randint(50, 900),
        random.randint(2, 9),
        random.randint(2, 9),
    )


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    numbers = plan(seed)
    return {"questions.md": QUESTIONS.format(**numbers._asdict(), last=numbers.partitions - 1)}


def right_answers(seed: int) -> dict[str, int]:
    """Return the right answers: the lengths of the bytes that the broker's own code makes."""
    return {name: len(made) for name, made in made_of(plan(seed)).items()}


def made_of(numbers: Plan) -> dict[str, bytes]:
    """Return the bytes for each question: batches and requests made by the broker's own code."""
    records = [
        Record(offset, NOW, None, b"v" * numbers.value_bytes) for offset in range(numbers.records)
    ]
    batch = build_batch(records)
    partition = PartitionProduceData(index=0, records=batch)
    produce = ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name=numbers.topic, partition_data=[partition])],
    )
    moved = range(numbers.moved)
    forgotten = list(range(numbers.moved, numbers.moved + numbers.forgotten))
    return {
        "batch_of_one": build_batch(records[:1]),
        "batch_of_all": batch,
        "produce": _frame(produce, PRODUCE_VERSION, numbers.client),
        "fetch_full": _fetch(numbers, range(numbers.partitions), [], 0),
        "fetch_nothing": _fetch(numbers, range(0), [], 1),
        "fetch_changes": _fetch(numbers, moved, forgotten, 2),
    }


def _frame(request: Message, version: int, client: str) -> bytes:
    return b"".join(map(part_bytes, encode_request(request, version, 1, client)))


def _fetch(numbers: Plan, wanted: range, forgotten: list[int], epoch: int) -> bytes:
    partitions = [
        FetchPartition(partition=one, fetch_offset=7, log_start_offset=0, partition_max_bytes=1_024)
        for one in wanted
    ]
    request = FetchRequest(
        replica_id=1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1_024,
        session_id=4_711 if epoch else 0,
        session_epoch=epoch,
        topics=[FetchTopic(topic=numbers.topic, partitions=partitions)] if partitions else [],
        forgotten_topics_data=[ForgottenTopic(topic=numbers.topic, partitions=forgotten)]
        if forgotten
        else [],
    )
    return _frame(request, FETCH_VERSION, numbers.follower)


def parts_of(numbers: Plan) -> dict[str, list[Part]]:
    """Return the parts of each answer. A test compares their sums with the real lengths."""
    first = record_parts(numbers.value_bytes, 0)
    all_records = [
        sum(part.size for part in record_parts(numbers.value_bytes, offset))
        for offset in range(numbers.records)
    ]
    header = Part(HEADER_BYTES, "the header of the batch")
    short = sum(part.size for part in first)
    longer = all_records.count(short + 1)
    batch = [
        header,
        Part(short * (numbers.records - longer), f"{numbers.records - longer} records of {short}"),
        Part(
            (short + 1) * longer,
            f"{longer} records of {short + 1}: an offset delta of 64 or more takes 2 bytes",
        ),
    ]
    around = [
        *_header_parts(numbers.client),
        Part(2, "transactional_id: null is the length -1"),
        Part(2 + 4, "acks, timeout"),
        Part(4, "how many topics"),
        Part(2 + len(numbers.topic), "the topic: its length, and its name"),
        Part(4 + 4, "how many partitions, and which one"),
        Part(4, "the length of the records"),
        Part(sum(part.size for part in batch), "the batch"),
    ]
    fetch = [
        *_header_parts(numbers.follower),
        Part(4 + 4 + 4 + 4 + 1, "replica_id, max_wait, min_bytes, max_bytes, isolation_level"),
        Part(4 + 4, "session_id, session_epoch"),
    ]
    topics, forgotten = Part(4, "how many topics"), Part(4, "how many forgotten topics")
    topic = Part(2 + len(numbers.topic) + 4, "the topic, and how many partitions")
    return {
        "batch_of_one": [header, *first],
        "batch_of_all": batch,
        "produce": around,
        "fetch_full": [
            *fetch,
            topics,
            topic,
            Part(24 * numbers.partitions, f"{numbers.partitions} partitions of 4 + 8 + 8 + 4"),
            forgotten,
        ],
        "fetch_nothing": [*fetch, topics, forgotten],
        "fetch_changes": [
            *fetch,
            topics,
            topic,
            Part(24 * numbers.moved, f"{numbers.moved} partitions of 4 + 8 + 8 + 4"),
            forgotten,
            topic,
            Part(4 * numbers.forgotten, f"{numbers.forgotten} partitions: only their numbers"),
        ],
    }


def record_parts(value_bytes: int, offset: int) -> list[Part]:
    """Return the parts of a record without key and headers, with a value of this length."""
    inner = [
        Part(1, "attributes"),
        Part(1, "timestamp delta: 0"),
        Part(zigzag_bytes(offset), f"offset delta: {offset}"),
        Part(1, "length of the key: -1"),
        Part(zigzag_bytes(value_bytes), f"length of the value: {value_bytes}"),
        Part(value_bytes, "the value"),
        Part(1, "how many headers: 0"),
    ]
    length = sum(part.size for part in inner)
    return [Part(zigzag_bytes(length), f"length of the record: {length}"), *inner]


def zigzag_bytes(number: int) -> int:
    """Return the number of bytes of a varint. The number must not be negative."""
    return max(1, -(-(2 * number).bit_length() // 7))


def _header_parts(client: str) -> list[Part]:
    return [
        Part(4, "the size"),
        Part(2 + 2 + 4, "api_key, api_version, correlation_id"),
        Part(2 + len(client), "the client id: its length, and its name"),
    ]
