"""What every Kafka client must be able to do here, unmodified: one class of tests that each
client's own module takes over.

The client does; the tests prepare and check with other means than the client itself: librdkafka,
and frames of our own. Each test is an ability, and what came of it goes into the table of the
README (`matrix`). So the abilities of a client are what its tests showed, and nothing else.
"""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

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
    """A record as a consumer saw it."""

    partition: int
    offset: int
    key: str
    value: str


class Joined(NamedTuple):
    """How many partitions members of a group had: the first alone, both together, the second when
    the first had left; and the values they read.
    """

    alone: int
    both: list[int]
    after: int
    values: list[str]


class Offsets(NamedTuple):
    """What a client found out of partition 0 after it had committed offset 4: None where it cannot
    ask.
    """

    committed: int | None
    begin: int | None
    end: int | None
    at_time: int | None
    """The first offset not before FIRST_TIME + 3."""


class Topics(NamedTuple):
    """A topic of 3 partitions with retention.ms=3600000, created, looked at, deleted, looked
    for.
    """

    partitions: int
    retention: str
    gone: bool


class Client(Protocol):
    """One client library, driven. `key(i)`, `value(i)`, FIRST_TIME + i and HEADERS are record i."""

    name: str
    """As in the README's table, with its version."""
    lacks: Mapping[str, str]
    """Abilities that this client has nowhere → why."""

    def produce(self, servers: str, topic: str, count: int, codec: str) -> None:
        """Produce `count` records with acks=all; returns when all are acknowledged."""
        ...

    def consume(self, servers: str, topic: str, count: int) -> list[Read]:
        """Read the topic's `count` records, from the beginning, all partitions."""
        ...

    def join(self, servers: str, topic: str, group: str, count: int) -> Joined:
        """Two members, one after the other, on a topic of 4 partitions with `count` records; then
        the first leaves.
        """
        ...

    def offsets(self, servers: str, topic: str, group: str) -> Offsets:
        """Commit offset 4 of partition 0 for the group, and ask."""
        ...

    def topics(self, servers: str, topic: str) -> Topics: ...


class Program:
    """A client in another language: a program that takes `ABILITY SERVERS TOPIC …` and prints JSON,
    the result's fields in order.
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
    """librdkafka's settings; it keeps its lines about lost connections to itself."""
    return {"bootstrap.servers": servers, "log_level": 0} | {
        name.replace("_", "."): setting for name, setting in settings.items()
    }


def create_topic(servers: str, topic: str, partitions: int) -> None:
    """Create it with as many replicas as there are brokers; returns when every broker tells of a
    leader for each partition.
    """
    admin = AdminClient(rd(servers))
    brokers = len(admin.list_topics(timeout=PATIENCE_S).brokers)
    kept = {
        "retention.ms": "-1"
    }  # FIRST_TIME is long ago: a retention check that came in between would delete the records
    admin.create_topics(
        [NewTopic(topic, partitions, min(3, brokers), config=kept)], operation_timeout=PATIENCE_S
    )[topic].result(PATIENCE_S)
    known_by_all(servers, topic, partitions)


def until_all_tell(servers: str, topic: str, told: Callable[[MetadataResponse], bool]) -> None:
    """Return when the answer of each of the brokers is as it should be: a client asks any of them,
    and each hears of a change in its own time.
    """
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
    )
    for server in servers.split(","):
        host, _, port = server.rpartition(":")
        asker = Asker(ListeningBroker(host, int(port)))
        asker.ask("what is it told", request, 5, until=told)
        asker.close()


def known_by_all(servers: str, topic: str, partitions: int) -> None:
    """Return when each of the brokers tells of a leader for each partition."""

    def has_leaders(answer: MetadataResponse) -> bool:
        told = answer.topics[0].partitions
        return len(told) == partitions and all(
            partition.error_code == Errors.NONE for partition in told
        )

    until_all_tell(servers, topic, has_leaders)


def unknown_to_all(servers: str, topic: str) -> None:
    """Return when none of the brokers knows the topic any more."""
    until_all_tell(
        servers,
        topic,
        lambda answer: answer.topics[0].error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION,
    )


def leaders(servers: str, topic: str, partitions: int) -> dict[int, tuple[str, int]] | None:
    """Partition → host and port of its leader; None as long as there is none for some."""
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
    """Produce records 0 to count - 1, each codec some; what was acknowledged."""
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
    """librdkafka's messages."""
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
    """Every value up to the end that a reader of that isolation level gets to, and if that is near,
    on, until there are `at_least` so many: a transaction is committed when its coordinator has
    noted it; to the readers of a partition, when the marker is there too, a moment later.
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
    """The codecs of the batches that lie in the log."""
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


@pytest.mark.timeout(300)  # for the first one has its client fetched and built
class ClientContract:
    """The tests. A client's module has one subclass `Test…` with `client`."""

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
        """It produces with the codec, and reads what it produced."""
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
        """Of every codec, from every partition, at the offsets that were acknowledged."""
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
        """A second member takes half of the first one's partitions, and the rest when that leaves;
        every record is read.
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
        )  # a controller's broker that still knows it would delete it once more
        admin = AdminClient(
            rd(servers)
            # kept: one that is collected leaves its futures alone, or ends them with an error of
            # its own
        )
        with pytest.raises(KafkaException) as refused:
            admin.delete_topics([topic])[topic].result(PATIENCE_S)
        assert refused.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
