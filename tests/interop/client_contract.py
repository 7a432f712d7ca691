"""The abilities that every unmodified Kafka client must have here: a class of tests that the module
of each client inherits.

The client does the work. The tests prepare and check with other means: librdkafka, and frames of
our own. Each test is one ability, and its result goes into the table of the README (`matrix`). So
the table shows only what the tests have shown.
"""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.record_batch import iter_headers
from tests.conformance.brokers import ListeningBroker, SocketLine
from tests.conformance.replay import Asker
from tests.waiting import PATIENCE_S

PROGRAM_S: Final = 120
FIRST_TIME: Final = 1_600_000_000_000
CODECS: Final = ("gzip", "snappy", "lz4", "zstd")
HEADERS: Final = [("made-by", b"test")]


class Read(NamedTuple):
    """A record as a consumer received it."""

    partition: int
    offset: int
    key: str
    value: str


class Joined(NamedTuple):
    """The number of partitions that the members of a group had: the first member alone, both
    together, and the second member after the first had left. Also the values that they read.
    """

    alone: int
    both: list[int]
    after: int
    values: list[str]


class Offsets(NamedTuple):
    """The findings of a client on partition 0 after it committed offset 4. A field is None where
    the client cannot ask.
    """

    committed: int | None
    begin: int | None
    end: int | None
    at_time: int | None
    """The first offset whose timestamp is not before FIRST_TIME + 3."""


class Topics(NamedTuple):
    """A topic of 3 partitions with retention.ms=3600000: what the client saw when it created,
    described, deleted and looked for it.
    """

    partitions: int
    retention: str
    gone: bool


class Client(Protocol):
    """Drives one client library. Record i has `key(i)`, `value(i)`, FIRST_TIME + i and HEADERS."""

    name: str
    """The name in the README's table, with the version."""
    lacks: Mapping[str, str]
    """Ability that this client does not offer on any broker → the reason."""

    def produce(self, servers: str, topic: str, count: int, codec: str) -> None:
        """Produce `count` records with acks=all. Returns when all are acknowledged."""
        ...

    def consume(self, servers: str, topic: str, count: int) -> list[Read]:
        """Read the topic's `count` records from the beginning of all partitions."""
        ...

    def join(self, servers: str, topic: str, group: str, count: int) -> Joined:
        """Add two members, one after the other, on a topic of 4 partitions with `count` records.
        Then the first one leaves.
        """
        ...

    def offsets(self, servers: str, topic: str, group: str) -> Offsets:
        """Commit offset 4 of partition 0 for the group, and query the offsets."""
        ...

    def topics(self, servers: str, topic: str) -> Topics: ...


class Program:
    """A client in another language: a program that takes `ABILITY SERVERS TOPIC …` and prints the
    result's fields in order, as JSON.
    """

    def __init__(
        self, name: str, command: Sequence[str | Path], lacks: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.lacks = lacks or {}
        self._command = [*map(str, command)]

    def _run(self, *arguments: object) -> Any:  # JSON
        done = subprocess.run(
            [*self._command, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=PROGRAM_S,
            check=False,
        )
        assert done.returncode == 0, (
            f"{self.name} {arguments[0]} ended with"
            f" {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        )
        return json.loads(done.stdout.strip().splitlines()[-1])

    def produce(self, servers: str, topic: str, count: int, codec: str) -> None:
        assert self._run("produce", servers, topic, count, codec) == count

    def consume(self, servers: str, topic: str, count: int) -> list[Read]:
        return [Read(*record) for record in self._run("consume", servers, topic, count)]

    def join(self, servers: str, topic: str, group: str, count: int) -> Joined:
        return Joined(*self._run("join", servers, topic, group, count))

    def offsets(self, servers: str, topic: str, group: str) -> Offsets:
        return Offsets(*self._run("offsets", servers, topic, group))

    def topics(self, servers: str, topic: str) -> Topics:
        return Topics(*self._run("topics", servers, topic))


def key(i: int) -> str:
    return f"k{i}"


def value(i: int) -> str:
    return f"value {i} " + "x" * 100


def rd(servers: str, **settings: object) -> dict[str, object]:
    """Return librdkafka's settings. Its messages about lost connections are switched off."""
    return {"bootstrap.servers": servers, "log_level": 0} | {
        name.replace("_", "."): setting for name, setting in settings.items()
    }


def create_topic(servers: str, topic: str, partitions: int) -> None:
    """Create a topic with as many replicas as there are brokers. Returns when every broker names a
    leader for each partition.
    """
    admin = AdminClient(rd(servers))
    brokers = len(admin.list_topics(timeout=PATIENCE_S).brokers)
    kept = {
        "retention.ms": "-1"
    }  # FIRST_TIME is long ago: without this, a retention check could delete the records
    make_topic(servers, topic, partitions, min(3, brokers), kept)
    known_by_all(servers, topic, partitions)


def until_all_answer(
    servers: str, topic: str, as_expected: Callable[[MetadataResponse], bool]
) -> None:
    """Return when the answer of every broker is as expected. A client may ask any of them, and each
    broker learns of a change at a different time.
    """
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
    )
    for server in servers.split(","):
        host, _, port = server.rpartition(":")
        asker = Asker(ListeningBroker(host, int(port)))
        asker.ask("metadata", request, 5, until=as_expected)
        asker.close()


def known_by_all(servers: str, topic: str, partitions: int) -> None:
    """Return when every broker names a leader for each partition."""

    def has_leaders(answer: MetadataResponse) -> bool:
        partitions_known = answer.topics[0].partitions
        return len(partitions_known) == partitions and all(
            partition.error_code == Errors.NONE for partition in partitions_known
        )

    until_all_answer(servers, topic, has_leaders)


def unknown_to_all(servers: str, topic: str) -> None:
    """Return when no broker knows the topic any more."""
    until_all_answer(
        servers,
        topic,
        lambda answer: answer.topics[0].error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION,
    )


def leaders(servers: str, topic: str, partitions: int) -> dict[int, tuple[str, int]] | None:
    """Return host and port of each partition's leader, or None while one has no leader."""
    metadata = AdminClient(rd(servers)).list_topics(topic, timeout=PATIENCE_S)
    found = {
        i: metadata.brokers.get(p.leader)
        for i, p in metadata.topics[topic].partitions.items()
        if p.error is None
    }
    if len(found) < partitions or None in found.values():
        return None
    return {i: (broker.host, broker.port) for i, broker in found.items() if broker is not None}


def fill(
    servers: str,
    topic: str,
    count: int,
    codecs: Sequence[str] = ("none",),
    partition: int | None = None,
) -> list[Read]:
    """Produce records 0 to count - 1, some with each codec. Returns the acknowledged records."""
    acked: list[Read] = []

    def on_delivery(error: object, message: Any) -> None:
        assert error is None, error
        acked.append(
            Read(
                message.partition(),
                message.offset(),
                message.key().decode(),
                message.value().decode(),
            )
        )

    where = {} if partition is None else {"partition": partition}
    for turn, codec in enumerate(codecs):
        producer = Producer(rd(servers, acks="all", linger_ms=20, compression_type=codec))
        for i in range(turn, count, len(codecs)):
            producer.produce(
                topic,
                value(i),
                key(i),
                timestamp=FIRST_TIME + i,
                headers=HEADERS,
                on_delivery=on_delivery,
                **where,
            )
        assert producer.flush(PATIENCE_S) == 0
    return sorted(acked)


def read_all(servers: str, topic: str, partitions: int, count: int) -> list[Any]:
    """Read the whole topic, and return librdkafka's messages."""
    consumer = Consumer(rd(servers, group_id="reader", enable_auto_commit=False))
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    messages: list[Any] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(messages) < count and time.monotonic() < deadline:
        messages += consumer.consume(1000, 0.5)
    consumer.close()
    return messages


def read_to_end(
    servers: str, topic: str, isolation_level: str, partitions: int, at_least: int = 0
) -> list[str]:
    """Return every value up to the end that a consumer with this isolation level reaches. If there
    are fewer than `at_least` values, wait for more. A transaction is committed when its coordinator
    has stored that. The consumers of a partition see it a moment later, when the marker is in the
    log too.
    """
    settings = rd(
        servers,
        group_id="check",
        isolation_level=isolation_level,
        enable_auto_commit=False,
        enable_partition_eof=True,
    )
    consumer = Consumer(settings)
    try:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        values: list[str] = []
        ended: set[int] = set()
        end = time.monotonic() + PATIENCE_S
        while len(ended) < partitions or len(values) < at_least:
            assert time.monotonic() < end, (values, ended)
            for message in consumer.consume(100, 0.2):
                if message.error() is None:
                    values.append(message.value().decode())
                    ended.discard(message.partition())
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
        return values
    finally:
        consumer.close()


def codecs_in(servers: str, topic: str, partitions: int) -> set[str]:
    """Return the codecs of the batches in the log."""
    found: set[str] = set()
    for partition, (host, port) in (leaders(servers, topic, partitions) or {}).items():
        asked = FetchTopic(
            topic=topic,
            partitions=[
                FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 24)
            ],
        )
        request = FetchRequest(
            replica_id=-1, max_wait_ms=0, min_bytes=0, session_epoch=-1, topics=[asked]
        )
        line = SocketLine(host, port)
        line.send(
            b"".join(bytes(part_bytes(part)) for part in encode_request(request, 11, 1, "test"))
        )
        answer = line.receive()
        line.close()
        assert answer is not None
        response: Any = decode_response(request.KEY or 0, 11, answer)[1]
        records = response.responses[0].partition_responses[0].record_set
        found |= {
            CompressionType(header.attributes & 7).name.lower()
            for _, header in iter_headers(records)
        }
    return found


class ClientContract:
    """The tests of the contract. The module of each client has a subclass `Test…`, which sets
    `client`.
    """

    client: ClassVar[Client]
    _topics = 0

    @pytest.fixture
    def topic(self, request: pytest.FixtureRequest) -> str:
        ClientContract._topics += 1
        name = "".join(c if c.isalnum() else "-" for c in self.client.name.lower())
        test = request.node.name.partition("[")[0].removeprefix("test_")
        return f"{name}-{test}-{ClientContract._topics}"

    @pytest.fixture(autouse=True)
    def _lacks(self, request: pytest.FixtureRequest) -> None:
        marker = request.node.get_closest_marker("ability")
        if marker is not None and marker.args[0] in self.client.lacks:
            pytest.skip(self.client.lacks[marker.args[0]])

    @pytest.mark.ability("produce")
    def test_produce(self, servers: str, topic: str) -> None:
        self._produce(servers, topic, "none")

    @pytest.mark.parametrize(
        "codec", [pytest.param(codec, marks=pytest.mark.ability(codec)) for codec in CODECS]
    )
    def test_compression(self, servers: str, topic: str, codec: str) -> None:
        """The client produces with the codec and reads the records back."""
        self._produce(servers, topic, codec)
        assert sorted(
            record.value for record in self.client.consume(servers, topic, 200)
        ) == sorted(map(value, range(200)))

    def _produce(self, servers: str, topic: str, codec: str) -> None:
        create_topic(servers, topic, 3)
        self.client.produce(servers, topic, 200, codec)
        messages = sorted(
            read_all(servers, topic, 3, 200), key=lambda message: int(message.key()[1:])
        )
        assert [(m.key().decode(), m.value().decode()) for m in messages] == [
            (key(i), value(i)) for i in range(200)
        ]
        assert all(m.headers() == HEADERS for m in messages)
        if "time" not in self.client.lacks:
            assert [m.timestamp()[1] for m in messages] == [FIRST_TIME + i for i in range(200)]
        assert codecs_in(servers, topic, 3) == {codec}

    @pytest.mark.ability("consume")
    def test_consume(self, servers: str, topic: str) -> None:
        """The client reads records of every codec from every partition, at the offsets that were
        acknowledged.
        """
        create_topic(servers, topic, 3)
        acked = fill(
            servers,
            topic,
            200,
            ["none", *(codec for codec in CODECS if codec not in self.client.lacks)],
        )
        assert sorted(self.client.consume(servers, topic, 200)) == acked

    @pytest.mark.ability("groups")
    def test_groups(self, servers: str, topic: str) -> None:
        """A second member takes over half of the first one's partitions, and the rest when the
        first one leaves. Every record is read.
        """
        create_topic(servers, topic, 4)
        fill(servers, topic, 100)
        joined = self.client.join(servers, topic, f"{topic}-group", 100)
        assert (joined.alone, joined.both, joined.after) == (4, [2, 2], 4)
        assert set(joined.values) == set(map(value, range(100)))

    @pytest.mark.ability("offsets")
    def test_offsets(self, servers: str, topic: str) -> None:
        create_topic(servers, topic, 1)
        fill(servers, topic, 10, partition=0)
        found = self.client.offsets(servers, topic, f"{topic}-group")
        expected = Offsets(4, 0, 10, 3)
        assert found == Offsets(
            *(
                None if theirs is None else ours
                for theirs, ours in zip(found, expected, strict=True)
            )
        )
        checker = Consumer(rd(servers, group_id=f"{topic}-group", enable_auto_commit=False))
        assert checker.committed([TopicPartition(topic, 0)], PATIENCE_S)[0].offset == 4
        checker.close()

    @pytest.mark.ability("topics")
    def test_topics(self, servers: str, topic: str) -> None:
        assert self.client.topics(servers, topic) == Topics(3, "3600000", True)
        unknown_to_all(
            servers, topic
        )  # a controller that still knows the topic would delete it again
        admin = AdminClient(
            rd(servers)
            # Keep a reference to the AdminClient. If it were garbage-collected, its futures would
            # never end, or would end with a different error.
        )
        with pytest.raises(KafkaException) as refused:
            admin.delete_topics([topic])[topic].result(PATIENCE_S)
        assert refused.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
