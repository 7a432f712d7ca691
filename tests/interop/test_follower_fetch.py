"""Consumers read from followers (KIP-392): unmodified clients on our brokers, and our answers next
to those of Apache Kafka 2.8.2.

There are three brokers in three racks. Broker 0 leads t-0.
"""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.apache_kafka import SMALL, apache_kafka
from kafka_edu.cli.demo_topic import wait_until_in_sync
from kafka_edu.common.transport import part_bytes, part_size
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.event import Source
from kafka_edu.trace.events.network import RequestReceived
from kafka_edu.trace.events.replication import ConsumerSentToFollower
from kafka_edu.trace.reader import open_recording
from tests.cluster.watcher import Watcher
from tests.conformance.broker_processes import OF_A_SMALL_HEAP
from tests.conformance.brokers import SocketLine
from tests.interop.client_contract import rd
from tests.interop.external_programs import apache_kafka_jars
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.interop

TOPIC = "t"
RECORDS = 5
SELECTOR = "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector"
RACKS = {0: "east", 1: "middle", 2: "west"}
WAIT_MS = 200


class Answer(NamedTuple):
    """The answer of a broker for t-0."""

    error: int
    preferred: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    has_records: bool


class Question(NamedTuple):
    broker: int
    rack_of: int | None
    """The broker in whose rack the consumer is; None: it names no rack; -1: an unknown one."""
    offset: int
    version: int = 11
    replica_id: int = -1
    epoch: int = -1


QUESTIONS = [
    *(
        Question(broker, rack, offset)
        for broker in (0, 1)
        for rack in (None, -1, 0, 1, 2)
        for offset in (0, RECORDS - 1, RECORDS, RECORDS + 1)
    ),
    *(Question(broker, 1, 0, version) for broker in (0, 1) for version in (4, 10, 12)),
    Question(0, 1, 0, replica_id=-2),  # a tool that reads any replica
    Question(0, 1, 0, epoch=7),
    Question(1, 1, 0, epoch=7),
    Question(0, 1, -5),
    Question(1, 1, -5),
]


def fetched(port: int, question: Question, rack: str) -> FetchablePartitionResponse:
    wanted = FetchPartition(
        partition=0,
        fetch_offset=question.offset,
        partition_max_bytes=1 << 20,
        current_leader_epoch=question.epoch,
    )
    request = FetchRequest(
        replica_id=question.replica_id,
        max_wait_ms=WAIT_MS,
        min_bytes=1,
        topics=[FetchTopic(topic=TOPIC, partitions=[wanted])],
        rack_id=rack,
    )
    line = SocketLine("127.0.0.1", port)
    try:
        parts = encode_request(request, question.version, 1, "asker")
        line.send(b"".join(bytes(part_bytes(part)) for part in parts))
        frame = line.receive()
    finally:
        line.close()
    assert frame is not None
    _, response = decode_response(ApiKey.FETCH, question.version, frame)
    assert isinstance(response, FetchResponse)
    return response.responses[0].partition_responses[0]


def prepare(bootstrap: str) -> None:
    """Create the topic with broker 0 as leader, and write RECORDS that all brokers have."""
    admin = AdminClient(rd(bootstrap))
    made = NewTopic(TOPIC, 1, replica_assignment=[[0, 1, 2]])
    admin.create_topics([made])[TOPIC].result(PATIENCE_S)
    wait_until_in_sync(bootstrap, TOPIC, 1)
    producer = Producer(rd(bootstrap, acks="all"))
    for number in range(RECORDS):
        producer.produce(TOPIC, b"value %d" % number, partition=0)
    assert producer.flush(PATIENCE_S) == 0


def answers(ports: dict[int, int], racks: dict[int, str]) -> dict[Question, Answer]:
    """Wait until each follower knows that all records are committed. Then send the fetch of each
    question, and return the answers.
    """
    for broker in (1, 2):
        wait_for(
            lambda broker=broker: (  # type: ignore[misc]  # mypy does not type a lambda's default
                fetched(ports[broker], Question(broker, None, 0), "").high_watermark == RECORDS
            ),
            "the follower knows the high watermark",
        )
    found = {}
    for question in QUESTIONS:
        rack = (
            ""
            if question.rack_of is None
            else "no such rack"
            if question.rack_of == -1
            else racks[question.rack_of]
        )
        p = fetched(ports[question.broker], question, rack)
        found[question] = Answer(
            p.error_code,
            p.preferred_read_replica,
            p.high_watermark,
            p.last_stable_offset,
            p.log_start_offset,
            part_size(p.record_set or b"") > 0,
        )
    return found


@contextlib.contextmanager
def our_cluster(props: dict[str, str] | None = None) -> Iterator[Cluster]:
    key, _, value = SELECTOR.partition("=")
    with running_cluster(
        props={key: value, **(props or {})},
        broker_props={broker: {"broker.rack": rack} for broker, rack in RACKS.items()},
    ) as cluster:
        prepare(cluster.bootstrap_servers)
        yield cluster


def test_our_brokers_answer_as_apache_kafka_does() -> None:
    jars = apache_kafka_jars()
    properties = [
        SELECTOR,
        "broker.rack=rack-{port}",
        *(f"{key}={value}" for key, value in OF_A_SMALL_HEAP.items()),
    ]
    with apache_kafka(jars, 3, properties, java=SMALL) as kafka:
        prepare(kafka.bootstrap)
        ports = dict(enumerate(kafka.ports))
        theirs = answers(ports, {broker: f"rack-{port}" for broker, port in ports.items()})
    with our_cluster() as cluster:
        ours = answers({broker: cluster.port(broker) for broker in RACKS}, RACKS)
    different = {q: (theirs[q], ours[q]) for q in QUESTIONS if theirs[q] != ours[q]}
    assert different == {}
    assert theirs[Question(0, 1, 0)].preferred == 1
    assert {answer.preferred for answer in theirs.values()} == {-1, 1, 2}
    assert len({answer.error for answer in theirs.values()}) >= 4


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[tuple[Cluster, Path]]:
    """A cluster whose brokers record the hops of requests, each in its own file."""
    key, _, value = SELECTOR.partition("=")
    with running_cluster(
        props={key: value, "edu.record.level": "hops", "edu.record.hops.per.second": "100000"},
        broker_props={
            broker: {"broker.rack": rack, "edu.record.file": str(tmp_path / f"{broker}.record")}
            for broker, rack in RACKS.items()
        },
    ) as cluster:
        prepare(cluster.bootstrap_servers)
        yield cluster, tmp_path


def fetches(cluster: Cluster, folder: Path, client_id: str) -> dict[int, int]:
    """Stop the brokers, which ends their recordings. Return how many fetches of that client each
    broker got.
    """
    for broker in RACKS:
        cluster.stop(broker)
    return {
        broker: sum(
            isinstance(e.event, RequestReceived)
            and e.event.api_key == ApiKey.FETCH
            and e.event.client_id == client_id
            for e in open_recording(str(folder / f"{broker}.record"))
        )
        for broker in RACKS
    }


def test_librdkafka_reads_from_its_rack(recorded: tuple[Cluster, Path]) -> None:
    cluster, folder = recorded
    watcher = Watcher(cluster.folder)
    consumer = Consumer(
        rd(
            cluster.bootstrap_servers,
            **{"group.id": "g", "client.id": "near", "client.rack": "west"},
        )
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    values = []
    try:
        while len(values) < RECORDS:
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            assert not message.error(), message.error()
            values.append(message.value())
        producer = Producer(rd(cluster.bootstrap_servers, acks="all"))
        producer.produce(TOPIC, b"later", partition=0)
        assert producer.flush(PATIENCE_S) == 0
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        assert message.value() == b"later"
        sent = watcher.wait(lambda e: isinstance(e.event, ConsumerSentToFollower), "sent west")
        assert sent.source == Source.of_broker(0)
        assert isinstance(sent.event, ConsumerSentToFollower)
        assert (sent.event.client_id, sent.event.rack, sent.event.follower) == ("near", "west", 2)
    finally:
        consumer.close()
        watcher.close()
    assert values == [b"value %d" % number for number in range(RECORDS)]
    counted = fetches(cluster, folder, "near")
    assert counted[1] == 0
    assert counted[2] >= 2
    assert counted[0] >= 1, "the leader was asked first"


def test_kafkas_own_consumer_reads_from_its_rack(recorded: tuple[Cluster, Path]) -> None:
    cluster, folder = recorded
    jars = apache_kafka_jars()
    command = [
        "java",
        *SMALL,
        "-cp",
        f"{jars}/*",
        "kafka.tools.ConsoleConsumer",
        "--bootstrap-server",
        cluster.bootstrap_servers,
        "--topic",
        TOPIC,
        "--from-beginning",
        "--max-messages",
        str(RECORDS),
        "--consumer-property",
        "client.rack=middle",
        "--consumer-property",
        "client.id=near-java",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stdout.splitlines() == [f"value {number}" for number in range(RECORDS)], done
    counted = fetches(cluster, folder, "near-java")
    assert counted[1] >= 1, counted
    assert counted[2] == 0
