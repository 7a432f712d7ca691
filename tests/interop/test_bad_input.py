"""Bytes that no client should send, against three broker processes. The broker closes the
connection or answers with Kafka's own error.

Meanwhile a producer with acks=all and one connection to each broker run all the time, and their
connections must stay open. At the end, every acknowledged record must be there.
"""

import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.conformance.cases import MODULES
from tests.conformance.replay import read_steps
from tests.interop.client_contract import create_topic, rd, read_all
from tests.interop.frames import read_frame

pytestmark = pytest.mark.interop

PATIENCE_S: Final = 60
TOPIC: Final = "bystander"
ANNOUNCED: Final = 100_000_000
IDLE_BROKER: Final = 2
IDLE_MS: Final = 4000
#: Requests that brokers trust. A client that may send them can move leaders and delete replicas, in
#: Apache Kafka too.
BETWEEN_BROKERS: Final = {
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
    ApiKey.UPDATE_METADATA,
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.ALTER_ISR,
}


def frame(request: Message, version: int) -> bytes:
    return b"".join(
        bytes(part_bytes(part)) for part in encode_request(request, version, 1, "bad-input")
    )


class Connection:
    """A socket to one broker."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)

    def ask(self, request: Message, version: int) -> Any:  # the response to that request
        self.socket.sendall(frame(request, version))
        return decode_response(request.KEY or 0, version, read_frame(self.socket))[1]

    def send(self, data: bytes) -> None:
        """Send the data, as far as the broker accepts it."""
        try:
            self.socket.sendall(data)
        except ConnectionError:
            return

    def is_closed_by_broker(self) -> bool:
        """Return whether the broker closes the connection without an answer."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


class Bystander(threading.Thread):
    """Produces until it is stopped. Now and then it sends a request to each broker, on a connection
    that must stay open.
    """

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(daemon=True)
        self.acked: list[bytes] = []
        self.errors: list[object] = []
        self._connections = [
            Connection(cluster.port(broker_id))
            for broker_id in cluster.broker_ids
            if broker_id != IDLE_BROKER
        ]
        self._idle_broker = cluster.port(IDLE_BROKER)
        self._producer = Producer(
            rd(cluster.bootstrap_servers, acks="all", enable_idempotence=True)
        )
        self._done = threading.Event()

    def run(self) -> None:
        number = 0
        while not self._done.wait(0.01):
            self._producer.produce(TOPIC, b"%d" % number, on_delivery=self._on_delivery)
            self._producer.poll(0)
            number += 1
        if self._producer.flush(PATIENCE_S):
            self.errors.append("records were never acknowledged")

    def _on_delivery(self, error: object, message: Any) -> None:
        if error is None:
            self.acked.append(message.value())
        else:
            self.errors.append(error)

    def is_served(self) -> None:
        for connection in (
            *self._connections,
            Connection(self._idle_broker),
        ):  # that broker closes idle connections, so this one is new
            assert connection.ask(ApiVersionsRequest(), 0).error_code == 0

    def stop(self) -> None:
        self._done.set()
        self.join()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    props = {
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.num.partitions": "5",
    }
    with running_cluster(
        "bad-input",
        props=props,
        broker_props={IDLE_BROKER: {"connections.max.idle.ms": str(IDLE_MS)}},
    ) as running:
        yield running


@pytest.fixture(scope="module")
def bystander(cluster: Cluster) -> Iterator[Bystander]:
    """Yield the bystander. Whatever the tests do, none of its acknowledged records may be lost."""
    create_topic(cluster.bootstrap_servers, TOPIC, 1)
    somebody = Bystander(cluster)
    somebody.start()
    yield somebody
    somebody.stop()
    assert somebody.errors == []
    assert len(somebody.acked) > 50
    read = [
        message.value()
        for message in read_all(cluster.bootstrap_servers, TOPIC, 1, len(somebody.acked))
    ]
    assert read == somebody.acked


HOSTILE: Final = {
    "negative size": struct.pack(">i", -1),
    "size 0": struct.pack(">i", 0),
    "one byte too large": struct.pack(">i", 104_857_601) + b"\0" * 100,
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an unknown key": struct.pack(">ihhih", 10, 999, 0, 1, -1),
    "a key of raft": struct.pack(">ihhih", 10, 52, 0, 1, -1),
    "a negative key": struct.pack(">ihhih", 10, -1, 0, 1, -1),
    "an unknown version": struct.pack(">ihhih", 10, ApiKey.PRODUCE, 77, 1, -1),
    "a negative version": struct.pack(">ihhih", 10, ApiKey.PRODUCE, -1, 1, -1),
    "a body that ends early": struct.pack(">ihhihi", 14, ApiKey.METADATA, 1, 1, -1, 5),
    "an announced million of topics": struct.pack(
        ">ihhihi", 14, ApiKey.METADATA, 1, 1, -1, 1_000_000
    ),
    "a header that ends early": struct.pack(">ih", 2, 3),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_request_costs_its_own_connection(
    cluster: Cluster, bystander: Bystander, name: str
) -> None:
    for broker_id in cluster.broker_ids:
        connection = Connection(cluster.port(broker_id))
        connection.send(HOSTILE[name])
        assert connection.is_closed_by_broker()
    bystander.is_served()


def test_random_bytes_and_spoiled_requests(cluster: Cluster, bystander: Bystander) -> None:
    noise = random.Random(7)
    recorded = [
        bytes.fromhex(step["request"])[4:]
        for name in MODULES
        for step in read_steps(name)
        if "request" in step and not step.get("raw")
    ]
    recorded = [body for body in recorded if int.from_bytes(body[:2], "big") not in BETWEEN_BROKERS]
    connections = []
    for turn in range(600):
        connection = Connection(cluster.port(turn % 3))
        if turn % 4 == 0:
            connection.send(noise.randbytes(noise.randrange(1, 2000)))
        else:
            body = bytearray(noise.choice(recorded))
            for _ in range(noise.randrange(1, 4)):
                body[noise.randrange(4, len(body))] = noise.choice(
                    [0, 1, 0x7F, 0x80, 0xFF, noise.randrange(256)]
                )
            del body[noise.choice([len(body), noise.randrange(8, len(body))]) :]
            connection.send(len(body).to_bytes(4, "big") + body)
        connections.append(connection)
        if turn % 100 == 99:
            bystander.is_served()
    for connection in connections:
        connection.socket.close()
    bystander.is_served()


def test_bad_batches_and_names_get_kafkas_errors(cluster: Cluster, bystander: Bystander) -> None:
    good = build_batch([Record(0, 1_600_000_000_000, b"k", b"v")])
    damaged = good[:-1] + bytes([good[-1] ^ 0xFF])
    for broker_id in cluster.broker_ids:
        connection = Connection(cluster.port(broker_id))

        def produce(
            topic: str, records: bytes | None, connection: Connection = connection
        ) -> Errors:
            data = TopicProduceData(
                name=topic, partition_data=[PartitionProduceData(index=0, records=records)]
            )
            response = connection.ask(
                ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[data]), 8
            )
            return Errors.of(response.responses[0].partition_responses[0].error_code)

        assert produce(TOPIC, damaged) in (Errors.CORRUPT_MESSAGE, Errors.NOT_LEADER_OR_FOLLOWER)
        assert produce(TOPIC, good[:40]) in (Errors.INVALID_RECORD, Errors.NOT_LEADER_OR_FOLLOWER)
        assert produce(TOPIC, None) in (
            Errors.INVALID_RECORD,
            Errors.NOT_LEADER_OR_FOLLOWER,
        )  # not recorded: Apache Kafka does not always give the same answer
        assert produce("no such topic!", good) is Errors.UNKNOWN_TOPIC_OR_PARTITION
        names = ["", ".", "..", "a b", "ü", "x" * 250]
        asked = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=False,
        )
        assert {Errors.of(topic.error_code) for topic in connection.ask(asked, 8).topics} == {
            Errors.INVALID_TOPIC_EXCEPTION
        }
        topics = [
            CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names
        ]
        created = connection.ask(CreateTopicsRequest(topics=topics, timeout_ms=5000), 4)
        assert {Errors.of(topic.error_code) for topic in created.topics} <= {
            Errors.INVALID_TOPIC_EXCEPTION,
            Errors.NOT_CONTROLLER,
        }
        vast = CreateTopicsRequest(
            topics=[CreatableTopic(name="vast", num_partitions=2**31 - 1, replication_factor=1)],
            timeout_ms=5000,
        )
        assert Errors.of(connection.ask(vast, 4).topics[0].error_code) in (
            Errors.POLICY_VIOLATION,
            Errors.NOT_CONTROLLER,
        )
    bystander.is_served()


def test_500_idle_connections_that_announce_100_mb_cost_less_than_16(
    cluster: Cluster, bystander: Bystander
) -> None:
    broker_id = 0

    def rss_anon() -> int:
        for _ in range(3):  # once for each processor that may have read our bytes
            assert Connection(cluster.port(broker_id)).ask(ApiVersionsRequest(), 0).error_code == 0
        return cluster.status().broker(broker_id).rss_anon or 0

    before = rss_anon()
    connections = [Connection(cluster.port(broker_id)) for _ in range(500)]
    for connection in connections:
        connection.send(struct.pack(">i", ANNOUNCED) + b"\0" * 1000)
    cost = rss_anon() - before
    bystander.is_served()
    for connection in connections:
        connection.socket.settimeout(0)
        # still open, because the rest of the frame may still come
        with pytest.raises(BlockingIOError):
            connection.socket.recv(1)
        connection.socket.close()
    print(f"500 connections cost {cost / 2**20:.1f} MB")
    assert cost < 16 * 2**20


def test_who_sends_byte_by_byte_or_nothing_is_closed(
    cluster: Cluster, bystander: Bystander
) -> None:
    port = cluster.port(IDLE_BROKER)
    # start before the first byte, because the broker may count from that moment
    start = time.monotonic()
    slow, silent, steady = Connection(port), Connection(port), Connection(port)
    slow.send(struct.pack(">i", ANNOUNCED))
    slow.socket.settimeout(0.1)
    closed = False
    while not closed:
        assert time.monotonic() - start < PATIENCE_S
        assert steady.ask(ApiVersionsRequest(), 0).error_code == 0
        slow.send(b"\0")
        try:
            closed = slow.is_closed_by_broker()
        except TimeoutError:
            continue
    assert time.monotonic() - start > IDLE_MS / 1000
    assert silent.is_closed_by_broker()
    assert steady.ask(ApiVersionsRequest(), 0).error_code == 0
