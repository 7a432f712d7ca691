"""Kafka Streams' word count, unmodified, in Java (spec I2).

The application reads lines, sends each word through a repartition topic, counts it in a store with
a changelog, and writes each new count to an output topic.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import ClassVar, Final

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from tests.interop.client_contract import (
    CODECS,
    codecs_in,
    create_topic,
    rd,
    read_all,
    unknown_to_all,
)
from tests.interop.external_programs import java_program
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.interop

VERSION: Final = "3.9.1"
PARTITIONS: Final = 4
LINES: Final = ["all streams lead to kafka", "hello kafka streams", "join kafka summit"] * 20


class WordCount:
    """One process with an application for each codec."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def partitions(self) -> list[int]:
        """Wait until the first application is RUNNING again; return its input partitions."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the program ended"
        partitions: list[int] = json.loads(line)
        return partitions

    def close(self) -> None:
        """Stop the applications as a user does. They commit and leave their groups."""
        _, said = self._process.communicate(timeout=2 * PATIENCE_S)
        assert self._process.returncode == 0, said[-4000:]


def write(servers: str, topic: str, lines: Sequence[str], codec: str = "none") -> None:
    producer = Producer(rd(servers, acks="all", compression_type=codec))
    for i, line in enumerate(lines):
        producer.produce(topic, line, partition=i % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def words(lines: Sequence[str]) -> Counter[str]:
    return Counter(word for line in lines for word in line.split())


class TestKafkaStreams:
    client: ClassVar = SimpleNamespace(name=f"Kafka Streams {VERSION}", lacks={})
    command: ClassVar[tuple[str, ...]]
    _topics = 0

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _program(cls) -> None:
        # its store is in memory here, and RocksDB would be a download of 70 MB
        cls.command = java_program(
            "java_streams", "WordCount", VERSION, "kafka-streams", ["org.rocksdb:*"]
        )

    @pytest.fixture
    def topic(self, servers: str) -> str:
        """The input topic. Its name is also that of the application."""
        TestKafkaStreams._topics += 1
        name = f"lines-{TestKafkaStreams._topics}"
        create_topic(servers, name, PARTITIONS)
        return name

    @contextmanager
    def running(
        self, servers: str, topic: str, codecs: Sequence[str], guarantee: str = "at_least_once"
    ) -> Iterator[WordCount]:
        for codec in codecs:
            if codec not in self.outputs(servers, topic):
                create_topic(servers, f"{topic}-{codec}-output", PARTITIONS)
        with subprocess.Popen(
            [*self.command, servers, topic, topic, guarantee, *codecs],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield WordCount(process)
            finally:
                process.kill()

    @staticmethod
    def outputs(servers: str, topic: str) -> set[str]:
        """Return the codecs whose output topic is there."""
        known = AdminClient(rd(servers)).list_topics(timeout=PATIENCE_S).topics
        return {
            name.removeprefix(f"{topic}-").removesuffix("-output")
            for name in known
            if name.startswith(f"{topic}-") and name.endswith("-output")
        }

    @staticmethod
    def await_counts(servers: str, output: str, expected: Mapping[str, int]) -> None:
        """Return when the last count of every word is the expected one."""
        counts: dict[str, int] = {}

        def right() -> bool:
            counts.clear()
            for message in read_all(servers, output, PARTITIONS, len(expected)):
                counts[message.key().decode()] = int(message.value())
            return counts == expected

        wait_for(right, lambda: f"{counts} in place of {dict(expected)}")

    @pytest.mark.ability("produce")
    def test_produce(self, servers: str, topic: str) -> None:
        self.count(servers, topic, ["none"])

    @pytest.mark.parametrize(
        "codec", [pytest.param(codec, marks=pytest.mark.ability(codec)) for codec in CODECS]
    )
    def test_compression(self, servers: str, topic: str, codec: str) -> None:
        """All topics of the application are compressed with the codec."""
        self.count(servers, topic, [codec])

    def count(self, servers: str, topic: str, codecs: Sequence[str]) -> None:
        write(servers, topic, LINES)
        with self.running(servers, topic, codecs) as word_count:
            for codec in codecs:
                self.await_counts(servers, f"{topic}-{codec}-output", words(LINES))
            word_count.close()
        for codec in codecs:
            assert codecs_in(servers, f"{topic}-{codec}-output", PARTITIONS) == {codec}

    @pytest.mark.ability("consume")
    def test_consume(self, servers: str, topic: str) -> None:
        """The application reads lines of every codec from every partition."""
        for codec in ("none", *CODECS):
            write(servers, topic, LINES, codec)
        with self.running(servers, topic, ["none"]) as word_count:
            self.await_counts(servers, f"{topic}-none-output", words(LINES * (1 + len(CODECS))))
            word_count.close()

    @pytest.mark.ability("groups")
    def test_groups(self, servers: str, topic: str) -> None:
        """A second process takes over half of the tasks, with their stores, and then the rest."""
        write(servers, topic, LINES)
        with self.running(servers, topic, ["none"]) as first:
            assert first.partitions() == [0, 1, 2, 3]
            self.await_counts(servers, f"{topic}-none-output", words(LINES))
            with self.running(servers, topic, ["none"]) as second:
                while len(second.partitions()) != 2:
                    pass  # each rebalance is said
                write(servers, topic, LINES)
                self.await_counts(servers, f"{topic}-none-output", words(LINES * 2))
                first.close()
                while second.partitions() != [0, 1, 2, 3]:
                    pass
                write(servers, topic, LINES)
                self.await_counts(servers, f"{topic}-none-output", words(LINES * 3))
                second.close()

    @pytest.mark.ability("offsets")
    def test_offsets(self, servers: str, topic: str) -> None:
        """With exactly_once_v2, an application that is stopped and started again continues its
        counts.
        """
        for times in (1, 2, 3):
            write(servers, topic, LINES)
            with self.running(servers, topic, ["none"], "exactly_once_v2") as word_count:
                self.await_counts(servers, f"{topic}-none-output", words(LINES * times))
                word_count.close()

    @pytest.mark.ability("topics")
    def test_topics(self, servers: str, topic: str) -> None:
        """The application creates its internal topics with the configuration that they need."""
        write(servers, topic, LINES)
        with self.running(servers, topic, ["none"]) as word_count:
            self.await_counts(servers, f"{topic}-none-output", words(LINES))
            word_count.close()
        admin = AdminClient(rd(servers))
        for name, policy in (("words-repartition", "delete"), ("counts-changelog", "compact")):
            internal = f"{topic}-none-{name}"
            described = admin.list_topics(internal, timeout=PATIENCE_S).topics[internal]
            assert len(described.partitions) == PARTITIONS
            resource = ConfigResource(ResourceType.TOPIC, internal)
            config = admin.describe_configs([resource])[resource].result(PATIENCE_S)
            assert config["cleanup.policy"].value == policy
            admin.delete_topics([internal])[internal].result(PATIENCE_S)
            unknown_to_all(servers, internal)
