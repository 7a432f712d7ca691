"""A log dir that brokers of different makes (Apache Kafka's and ours) use in turn, as broker 0 of
one cluster, and a list of the records that were written to it.
"""

import contextlib
import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types

from benchmarks.apache_kafka import SMALL, ApacheKafka, PeerMissing, kafka_jars
from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_edu.protocol.messages.list_offsets import ListOffsetsResponse
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.memory_records import build_records, read_all
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.zk.apache import free_port
from tests.conformance.brokers import ListeningBroker
from tests.conformance.cases.basics import create, epoch_end, fetch, offsets, produce
from tests.conformance.replay import Asker
from tests.waiting import wait_for

PATIENCE_S: Final = 120
SETTINGS: Final = {
    "inter.broker.protocol.version": "2.0",
    "log.segment.bytes": "5000",
    "log.index.interval.bytes": "500",
    "log.index.size.max.bytes": "40000",
    "log.retention.ms": "-1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "zookeeper.session.timeout.ms": "6000",
    "zookeeper.connection.timeout.ms": "60000",
    "zookeeper.connect": "",
}
#: Topic → its message.format.version at its creation, and the format that its clients send.
TOPICS: Final = {
    "v0": ("0.9.0", 0),
    "v1": ("0.10.2", 1),
    "v2": ("2.0", 2),
    "mixed": ("0.10.2", 1),
    "idempotent": ("2.0", 2),
    "short": ("2.0", 2),
}
CODECS: Final = (
    CompressionType.NONE,
    CompressionType.GZIP,
    CompressionType.SNAPPY,
    CompressionType.LZ4,
)
PRODUCER_ID: Final = 4000


class Make(StrEnum):
    OURS = "kafka-edu"
    KAFKA_2_0_1 = "2.0.1"
    KAFKA_2_8_2 = "2.8.2"


class _Running(Protocol):
    port: int

    def end(self, *, kill: bool) -> None: ...


class _Ours:
    def __init__(self, folder: Path, properties: dict[str, str]) -> None:
        self.port = free_port()
        path = folder / "ours.properties"
        given = properties | {"broker.id": "0", "listeners": f"PLAINTEXT://127.0.0.1:{self.port}"}
        path.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
        with (folder / "ours.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kafka_edu.server.main", str(path)], stderr=log
            )

    def wait(self) -> int:
        """Wait until the process has ended by itself, and return its exit code."""
        return self._process.wait(PATIENCE_S)

    def end(self, *, kill: bool) -> None:
        if kill:
            self._process.kill()
        else:
            self._process.terminate()
        self._process.wait(PATIENCE_S)


class _Apache:
    def __init__(self, version: str, properties: dict[str, str], zookeeper: str) -> None:
        self._kafka = ApacheKafka(
            kafka_jars(version),
            1,
            [f"{key}={value}" for key, value in properties.items()],
            zookeeper,
            SMALL,
        )
        try:
            self._kafka.up()
        except PeerMissing:
            self._kafka.down()
            raise
        self.port = self._kafka.ports[0]

    def end(self, *, kill: bool) -> None:
        if not kill:
            self._kafka.stop(0)
        self._kafka.down()


class Disk:
    """The log dir, and the records that its logs must contain. Raises PeerMissing when one of the
    makes cannot run here.
    """

    def __init__(self, folder: Path, zookeeper: str, **properties: str) -> None:
        """`properties` are settings of the brokers, on top of SETTINGS."""
        self._properties = SETTINGS | {"zookeeper.connect": zookeeper} | properties
        self.folder = folder
        self.data = folder / "data"
        self.port = 0
        """The port of the running broker."""
        self.records: dict[str, list[Record]] = {topic: [] for topic in TOPICS}
        self.start = dict.fromkeys(TOPICS, 0)
        self._zookeeper = zookeeper
        self._formats = {topic: magic for topic, (_, magic) in TOPICS.items()}
        self._values = itertools.count()
        self._now_ms = round(time.time() * 1000)
        """The records have today's timestamps, because a broker forgets a producer whose last
        record is a week old.
        """
        self._last_idempotent: tuple[bytes, int] | None = None
        self._sequence = 0

    @contextlib.contextmanager
    def run(self, make: Make, *, kill: bool = False) -> Iterator[Asker]:
        """Run a broker of this make on the log dir, and wait for its leaders. At the end it gets
        SIGTERM or SIGKILL.
        """
        self._await_no_broker()
        properties = self._properties | {"log.dirs": str(self.data)}
        running: _Running = (
            _Ours(self.folder, properties)
            if make is Make.OURS
            else _Apache(make, properties, self._zookeeper)
        )
        killed = True
        try:
            self.port = running.port
            asker = Asker(ListeningBroker("127.0.0.1", running.port))
            self._await_leaders(running.port)
            for topic in TOPICS:  # the metadata may name a leader before that broker knows it
                asker.ask("leads", offsets(-1, topic=topic), 1, until=_knows_its_role)
            yield asker
            killed = kill
        finally:
            running.end(kill=killed)

    def refused(self, make: Make) -> str:
        """Start a broker while another one runs on the same log dir, and return its output. It must
        end by itself.
        """
        properties = self._properties | {"log.dirs": str(self.data)}
        if make is not Make.OURS:
            try:
                _Apache(make, properties, self._zookeeper).end(kill=True)
            except PeerMissing as error:
                return str(error)
            raise AssertionError("Apache Kafka started on a log dir that another broker uses")
        ours = _Ours(self.folder, properties)
        assert ours.wait() == 1
        return (self.folder / "ours.log").read_text()

    def _await_no_broker(self) -> None:
        """Wait until no broker is registered. After kill -9 the session remains until it expires,
        and Apache Kafka does not start while it exists.
        """
        client = KazooClient(self._zookeeper)
        client.start()
        wait_for(
            lambda: client.exists("/brokers/ids/0") is None, "the session of the broker before ends"
        )
        client.stop()
        client.close()

    def _await_leaders(self, port: int) -> None:
        """Ask until every partition has a leader. A broker that does not listen yet cannot be
        asked.
        """
        broker = ListeningBroker("127.0.0.1", port)

        def has_leaders() -> bool:
            try:
                answer = Asker(broker).ask("leaders", MetadataRequest(topics=None), 5)
            except (ConnectionError, TimeoutError):
                return False
            return answer is not None and self._has_leaders(answer)

        wait_for(has_leaders, "every partition has a leader", PATIENCE_S)

    def _has_leaders(self, answer: MetadataResponse) -> bool:
        led = {
            topic.name
            for topic in answer.topics
            if all(partition.error_code == 0 for partition in topic.partitions)
        }
        return bool(answer.brokers) and (led >= {topic for topic in TOPICS if self.records[topic]})

    def create_topics(self, asker: Asker) -> None:
        for topic, (release, _) in TOPICS.items():
            answer = asker.ask(
                "create", create(topic, configs={"message.format.version": release}), 2
            )
            assert answer.topics[0].error_code in (0, 7), answer
        self._await_all(asker)

    def _await_all(self, asker: Asker) -> None:
        asker.ask(
            "leaders",
            MetadataRequest(topics=None),
            5,
            until=lambda answer: (
                {
                    t.name
                    for t in answer.topics
                    if t.partitions and not any(p.error_code for p in t.partitions)
                }
                >= set(TOPICS)
            ),
        )

    def sent_as(self, topic: str, magic: int) -> None:
        """Change the format that the topic's clients send from now on."""
        self._formats[topic] = magic

    def write(self, asker: Asker, rounds: int) -> None:
        """Write some records into each topic with each codec. Each record is later than the one
        before.
        """
        for i in range(rounds):
            for topic in TOPICS:
                self._produce(asker, topic, 1 + i % 4, CODECS[i // 2 % 4])

    def _produce(self, asker: Asker, topic: str, count: int, codec: CompressionType) -> None:
        magic, known = self._formats[topic], self.records[topic]
        new = []
        for i in range(count):
            n = next(self._values)
            new.append(
                Record(
                    i,
                    self._now_ms + 10 * n,
                    b"key %d" % (n % 7),
                    b"value %d " % n * 3,
                    (("n", b"%d" % n),) if magic == 2 else (),
                )
            )
        if topic == "idempotent":
            data = build_batch(
                new,
                compression=codec,
                producer_id=PRODUCER_ID,
                producer_epoch=1,
                base_sequence=self._sequence,
            )
            self._sequence += count
            self._last_idempotent = data, len(known)
        else:
            data = build_records(new, magic, codec)
        answer = asker.ask("write", produce(data, topic=topic), 6 if magic == 2 else 2)
        partition = answer.responses[0].partition_responses[0]
        assert (partition.error_code, partition.base_offset) == (0, len(known)), (topic, partition)
        known += [
            record._replace(offset=len(known) + i, timestamp=record.timestamp if magic else -1)
            for i, record in enumerate(new)
        ]

    def delete_before(self, asker: Asker, topic: str, offset: int) -> None:
        """Send DeleteRecords."""
        wanted = DeleteRecordsTopic(
            name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)]
        )
        answer = asker.ask("delete", DeleteRecordsRequest(topics=[wanted], timeout_ms=5000), 0)
        assert answer.topics[0].partitions[0].error_code == 0, answer
        self.start[topic] = offset

    def first_offset(self, asker: Asker, topic: str) -> int:
        return int(asker.ask("start", offsets(-2, topic=topic), 2).topics[0].partitions[0].offset)

    def active_segment(self, topic: str) -> Path:
        return max((self.data / f"{topic}-0").glob("*.log"))

    def check(self, asker: Asker) -> None:
        """Check that the broker serves all records, by offset and by time, and still knows the
        producer.
        """
        for topic, records in self.records.items():
            served = self._read_all(asker, topic)
            assert served == records[self.start[topic] :], topic
            self._check_look_ups(asker, topic, records)
        if self._last_idempotent is not None:
            data, base = self._last_idempotent
            again = (
                asker.ask("again", produce(data, topic="idempotent"), 6)
                .responses[0]
                .partition_responses[0]
            )
            assert (again.error_code, again.base_offset) == (
                0,
                base,
            ), "the producer's last batch is known"

    def check_clean_end(self) -> None:
        """Check the files of a broker that was stopped cleanly: checkpoints at the ends of the
        logs, and the clean-shutdown file.
        """
        ends = {f"{topic} 0": len(records) for topic, records in self.records.items()}
        for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
            assert self._checkpoint(name).items() >= ends.items(), name
        starts = {f"{topic} 0": start for topic, start in self.start.items() if start}
        assert self._checkpoint("log-start-offset-checkpoint").items() >= starts.items()
        assert (self.data / ".kafka_cleanshutdown").exists()
        assert "broker.id=0" in (self.data / "meta.properties").read_text().splitlines()

    def _checkpoint(self, name: str) -> dict[str, int]:
        lines = (self.data / name).read_text().splitlines()
        assert (lines[0], int(lines[1])) == ("0", len(lines) - 2), name
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines[2:]}

    def _read_all(self, asker: Asker, topic: str) -> list[Record]:
        found: list[Record] = []
        offset = self.start[topic]
        while offset < len(self.records[topic]):
            answer = (
                asker.ask("read", fetch(offset, topic=topic, size=3000), 7)
                .responses[0]
                .partition_responses[0]
            )
            assert answer.error_code == 0, (topic, offset, answer.error_code)
            new = [
                record
                for record in read_all(bytes(part_bytes(answer.record_set)))
                if record.offset >= offset
            ]
            assert new, (topic, offset)
            found += new
            offset = new[-1].offset + 1
        return found

    def _check_look_ups(self, asker: Asker, topic: str, records: list[Record]) -> None:
        ends = [
            asker.ask("end", offsets(which, topic=topic), 2).topics[0].partitions[0].offset
            for which in (-2, -1)
        ]
        assert ends == [self.start[topic], len(records)], topic
        for at in range(self.start[topic], len(records), 37):
            one = (
                asker.ask("one", fetch(at, topic=topic, size=1), 7)
                .responses[0]
                .partition_responses[0]
            )
            assert at in [
                record.offset for record in read_all(bytes(part_bytes(one.record_set)))
            ], (topic, at)
            wanted = records[at].timestamp
            if topic != "v0":
                found = (
                    asker.ask("time", offsets(wanted - 5, topic=topic), 2).topics[0].partitions[0]
                )
                assert (found.offset, found.timestamp) == (at, wanted), (topic, at)
        if topic not in ("v0", "v1", "mixed"):
            end = asker.ask("epoch", epoch_end(0, topic=topic), 0).topics[0].partitions[0]
            assert end.error_code == 0
            assert 0 < end.end_offset <= len(records)


def _knows_its_role(answer: ListOffsetsResponse) -> bool:
    """Return whether the broker knows already that it is the leader."""
    return answer.topics[0].partitions[0].error_code != Errors.NOT_LEADER_OR_FOLLOWER
