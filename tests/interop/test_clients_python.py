"""Unmodified kafka-python and confluent-kafka (librdkafka) against three broker processes: tests
that are not part of the client contract.
"""

import socket
import struct
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as RdTopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.legacy import build_message_set, iter_messages
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(
        brokers=3, props={"replica.lag.time.max.ms": "10000", "log.retention.ms": "-1"}
    ) as running:
        yield running


def rd(cluster: Cluster) -> dict[str, object]:
    """Return librdkafka's settings. Its messages about lost connections are switched off."""
    return {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}


class RawClient:
    """A connection that sends one request at a time."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)

    def ask(self, request: Message, version: int) -> Message:
        self.socket.sendall(b"".join(map(part_bytes, encode_request(request, version, 1, "raw"))))
        return decode_response(request.KEY, version, self.frame())[1]

    def frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def is_closed_by_broker(self) -> bool:
        """Return whether the broker closes the connection without an answer."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


def create(
    cluster: Cluster,
    topic: str,
    partitions: int = 1,
    replicas: int = 3,
    config: dict[str, str] | None = None,
) -> int:
    """Create a topic, and return the leader of its partition 0."""
    admin = AdminClient(rd(cluster))
    admin.create_topics(
        [NewTopic(topic, partitions, replicas, config=config or {})], operation_timeout=PATIENCE_S
    )[topic].result(PATIENCE_S)
    return max(leader_by(cluster, broker_id, topic) for broker_id in cluster.broker_ids)


def leader_by(cluster: Cluster, broker_id: int, topic: str) -> int:
    """Return the leader of partition 0 as soon as this broker knows it. Each broker learns of the
    leader at a different time.
    """
    client = RawClient(cluster.port(broker_id))
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
    )

    def leaders() -> dict[int, int]:
        partitions = client.ask(request, 9).topics[0].partitions
        return (
            {p.partition_index: p.leader_id for p in partitions}
            if all(p.error_code == Errors.NONE for p in partitions)
            else {}
        )

    return wait_for(leaders, f"broker {broker_id} knows no leader of {topic}")[0]


def consume_rd(
    cluster: Cluster, topic: str, partitions: int, count: int, **settings: object
) -> list[bytes]:
    """Read `count` values, all of the topic, with librdkafka."""
    consumer = Consumer(rd(cluster) | {"group.id": "none", "enable.auto.commit": False} | settings)
    consumer.assign([RdTopicPartition(topic, partition, 0) for partition in range(partitions)])
    values: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(values) < count and time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.5):
            assert message.error() is None, message.error()
            values.append(message.value())
    consumer.close()
    return values


@pytest.mark.parametrize("version", [(0, 10, 0), (0, 11), (1, 0), (2, 0), (2, 5)])
def test_kafka_python_pinned_to_an_old_broker(cluster: Cluster, version: tuple[int, ...]) -> None:
    """A client with a pinned version does not send ApiVersions and uses old request versions:
    message sets before 0.11, no sessions before 1.1.
    """
    topic = "pinned-" + "-".join(map(str, version))
    create(cluster, topic)
    idempotent = version >= (0, 11)
    producer = KafkaProducer(
        bootstrap_servers=cluster.bootstrap_servers,
        api_version=version,
        acks="all",
        enable_idempotence=idempotent,
    )
    futures = [producer.send(topic, value=b"%d" % i) for i in range(50)]
    assert [future.get(PATIENCE_S).offset for future in futures] == list(range(50))
    producer.close()
    consumer = KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers,
        api_version=version,
        enable_auto_commit=False,
        consumer_timeout_ms=PATIENCE_S * 1000,
    )
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek_to_beginning()
    assert [next(consumer).value for _ in range(50)] == [b"%d" % i for i in range(50)]
    assert consumer.end_offsets([TopicPartition(topic, 0)]) == {TopicPartition(topic, 0): 50}
    consumer.close()


@pytest.mark.parametrize("release", ["0.9.0", "0.10.2", "2.0"])
def test_old_clients_and_logs_of_every_format(cluster: Cluster, release: str) -> None:
    """Clients of message sets v0, message sets v1 and batches v2 all write into one log. Each
    client reads the whole log, converted to a format that it knows.
    """
    topic = f"format-{release}"
    create(cluster, topic, config={"message.format.version": release})
    tp, versions, sent = TopicPartition(topic, 0), [(0, 9), (0, 10, 0), (0, 11), (2, 0)], []
    for version in versions:
        producer = KafkaProducer(
            bootstrap_servers=cluster.bootstrap_servers,
            api_version=version,
            acks="all",
            enable_idempotence=False,
            compression_type="gzip",
        )
        for i in range(30):
            sent.append(f"{version} {i}".encode())
            producer.send(topic, value=sent[-1], key=b"k")
        producer.flush(PATIENCE_S)
        producer.close()
    for version in versions:
        consumer = KafkaConsumer(
            bootstrap_servers=cluster.bootstrap_servers,
            api_version=version,
            enable_auto_commit=False,
            consumer_timeout_ms=PATIENCE_S * 1000,
            max_partition_fetch_bytes=800,  # read in several pieces
        )
        consumer.assign([tp])
        consumer.seek(tp, 0)
        assert [
            (message.offset, message.value) for message in (next(consumer) for _ in sent)
        ] == list(enumerate(sent)), version
        consumer.close()


def test_big_messages_and_too_big_ones(cluster: Cluster) -> None:
    create(cluster, "big")
    producer = Producer({**rd(cluster), "acks": "all", "message.max.bytes": 4_000_000})
    results: list[KafkaError | None] = []
    for size in (900_000, 3_000_000, 900_001):
        producer.produce("big", b"z" * size, on_delivery=lambda error, _: results.append(error))
        assert producer.flush(PATIENCE_S) == 0
    assert results[0] is None
    assert results[2] is None
    assert results[1].code() == KafkaError.MSG_SIZE_TOO_LARGE
    # A batch larger than the consumer's limit is returned all the same (KIP-74).
    assert [
        len(v) for v in consume_rd(cluster, "big", 1, 2, **{"max.partition.fetch.bytes": 1000})
    ] == [900_000, 900_001]


def test_auto_creation_and_bad_names(cluster: Cluster) -> None:
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    assert producer.send("made-by-asking", b"v").get(PATIENCE_S).offset == 0
    producer.close()
    admin = AdminClient(rd(cluster))
    admin.create_topics([NewTopic("dots.and.more", 1, 1)])["dots.and.more"].result(PATIENCE_S)
    for topic, code in (
        ("a b", KafkaError.TOPIC_EXCEPTION),
        ("..", KafkaError.TOPIC_EXCEPTION),
        ("x" * 250, KafkaError.TOPIC_EXCEPTION),
        ("dots_and_more", KafkaError.TOPIC_EXCEPTION),
        ("dots.and.more", KafkaError.TOPIC_ALREADY_EXISTS),
    ):
        with pytest.raises(KafkaException) as caught:
            admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(PATIENCE_S)
        assert caught.value.args[0].code() == code, topic


def test_create_topics_refuses_what_cannot_be(cluster: Cluster) -> None:
    admin = AdminClient(rd(cluster))

    def code(topic: NewTopic, **options: object) -> int | None:
        try:
            admin.create_topics([topic], **options)[topic.topic].result(PATIENCE_S)
        except KafkaException as error:
            return error.args[0].code()
        return None

    assert code(NewTopic("r", 1, 4)) == KafkaError.INVALID_REPLICATION_FACTOR
    assert code(NewTopic("r", 0, 1)) == KafkaError.INVALID_PARTITIONS
    assert code(NewTopic("r", 1, 1, config={"retention.ms": "soon"})) == KafkaError.INVALID_CONFIG
    assert code(NewTopic("r", 1, 1, config={"no.such.key": "1"})) == KafkaError.INVALID_CONFIG
    assert (
        code(NewTopic("r", 2, replica_assignment=[[0, 1], [2]]))
        == KafkaError.INVALID_REPLICA_ASSIGNMENT
    )
    assert (
        code(NewTopic("r", 1, replica_assignment=[[0, 0]])) == KafkaError.INVALID_REPLICA_ASSIGNMENT
    )
    assert code(NewTopic("r", 1, 1), validate_only=True) is None
    assert "r" not in admin.list_topics(timeout=PATIENCE_S).topics
    assert code(NewTopic("r", 2, replica_assignment=[[2, 0], [1, 2]])) is None
    for broker_id in cluster.broker_ids:
        leader_by(cluster, broker_id, "r")
    partitions = admin.list_topics("r", timeout=PATIENCE_S).topics["r"].partitions
    assert [partitions[i].replicas for i in range(2)] == [[2, 0], [1, 2]]


def produce_raw(topic: str, records: bytes | None, acks: int = 1) -> ProduceRequest:
    data = TopicProduceData(
        name=topic, partition_data=[PartitionProduceData(index=0, records=records)]
    )
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[data])


def fetch_raw(
    topic: str, offset: int, max_bytes: int = 1 << 20, min_bytes: int = 1
) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=min_bytes,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )


RECORDS = [Record(i, 1_600_000_000_000 + i, b"key", b"value %d" % i) for i in range(4)]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(
    "codec",
    [CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4],
)
def test_raw_frames_of_the_oldest_versions(
    cluster: Cluster, magic: int, codec: CompressionType
) -> None:
    """Produce v0 and v2 send message sets. Fetch v0 and v2 return them as message sets, and Fetch
    v4 as a v2 batch.
    """
    topic = f"old-{magic}-{codec.name}"
    client = RawClient(cluster.port(create(cluster, topic)))
    response = client.ask(
        produce_raw(topic, build_message_set(RECORDS, magic, codec)), 0 if magic == 0 else 2
    )
    assert response.responses[0].partition_responses[0].error_code == Errors.NONE
    assert consume_rd(cluster, topic, 1, 4) == [r.value for r in RECORDS]
    for version, expected_magic in ((0, 0), (1, 0), (2, 1), (3, 1)):
        partition = client.ask(fetch_raw(topic, 0), version).responses[0].partition_responses[0]
        messages = list(iter_messages(bytes(partition.record_set)))
        assert {m.magic for m in messages} == {expected_magic}
        assert messages[-1].offset == 3
    partition = client.ask(fetch_raw(topic, 0), 4).responses[0].partition_responses[0]
    assert partition.record_set[16] == 2
    assert partition.high_watermark == 4


def test_list_offsets_in_old_and_new_versions(cluster: Cluster) -> None:
    leader = create(cluster, "offsets")
    client = RawClient(cluster.port(leader))
    assert (
        client.ask(produce_raw("offsets", build_batch(RECORDS), acks=-1), 3)
        .responses[0]
        .partition_responses[0]
        .error_code
        == Errors.NONE
    )

    def ask(timestamp: int, version: int) -> object:
        asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        if version == 0:
            asked.max_num_offsets = 5
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name="offsets", partitions=[asked])]
        )
        return client.ask(request, version).topics[0].partitions[0]

    assert ask(-1, 0).old_style_offsets == [4, 0]
    assert ask(-2, 0).old_style_offsets == [0]
    for version in range(1, 7):
        assert (ask(-1, version).offset, ask(-2, version).offset) == (4, 0)
        found = ask(1_600_000_000_002, version)
        assert (found.error_code, found.timestamp, found.offset) == (0, 1_600_000_000_002, 2)
        assert ask(1_700_000_000_000, version).offset == -1


def test_corrupt_and_refused_batches(cluster: Cluster) -> None:
    client = RawClient(cluster.port(create(cluster, "corrupt")))

    def code(records: bytes | None, version: int) -> Errors:
        return Errors(
            client.ask(produce_raw("corrupt", records), version)
            .responses[0]
            .partition_responses[0]
            .error_code
        )

    good = build_batch(RECORDS)
    broken = bytearray(good)
    broken[-1] ^= 0xFF
    assert code(bytes(broken), 9) is Errors.CORRUPT_MESSAGE
    assert code(good + good, 9) is Errors.INVALID_RECORD
    assert code(b"", 9) is Errors.INVALID_RECORD
    assert code(good[:50], 9) is Errors.INVALID_RECORD
    assert code(b"", 1) is Errors.NONE
    assert code(build_message_set(RECORDS, 1), 5) is Errors.INVALID_RECORD
    assert code(good, 9) is Errors.NONE
    assert consume_rd(cluster, "corrupt", 1, 4) == [r.value for r in RECORDS]


def test_acks_0_is_not_answered_and_its_errors_close(cluster: Cluster) -> None:
    leader = create(cluster, "acks0")
    client = RawClient(cluster.port(leader))
    for part in encode_request(produce_raw("acks0", build_batch(RECORDS), acks=0), 9, 1, "raw"):
        client.socket.sendall(part_bytes(part))
    assert (
        client.ask(ApiVersionsRequest(), 0).error_code == 0
    )  # the next answer belongs to the next request
    for part in encode_request(
        produce_raw("no-such-topic-here", build_batch(RECORDS), acks=0), 9, 2, "raw"
    ):
        client.socket.sendall(part_bytes(part))
    assert client.is_closed_by_broker()
    assert consume_rd(cluster, "acks0", 1, 4) == [r.value for r in RECORDS]


def test_no_acked_record_is_lost_when_the_leader_is_killed(cluster: Cluster) -> None:
    """An idempotent producer with acks=all writes to a partition with three replicas while SIGKILL
    ends the leader. Every acknowledged record can be read, once and in order.
    """
    topic = "killed"
    leader = create(cluster, topic, config={"min.insync.replicas": "2"})
    acked: list[bytes] = []
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, message: object) -> None:
        if error is None:
            acked.append(message.value())
        else:
            failed.append(error)

    producer = Producer({**rd(cluster), "acks": "all", "enable.idempotence": True, "linger.ms": 2})
    sent = 0
    while len(acked) < 200:
        producer.produce(topic, b"%d" % sent, on_delivery=on_delivery)
        sent += 1
        producer.poll(0.002)
    cluster.kill(leader)
    try:
        for _ in range(300):
            producer.produce(topic, b"%d" % sent, on_delivery=on_delivery)
            sent += 1
            producer.poll(0.002)
        assert producer.flush(PATIENCE_S) == 0
    finally:
        cluster.start(leader, wait=False)
    assert failed == []
    assert acked == [b"%d" % i for i in range(sent)]
    assert consume_rd(cluster, topic, 1, sent) == acked


def test_the_returned_broker_is_in_sync_again(cluster: Cluster) -> None:
    admin = AdminClient(rd(cluster))

    def behind() -> list[str]:
        metadata = admin.list_topics(timeout=PATIENCE_S)
        missing = ["a broker"] if len(metadata.brokers) < 3 else []
        return missing + [
            t
            for t, topic in metadata.topics.items()
            for p in topic.partitions.values()
            if len(p.isrs) < len(p.replicas)
        ]

    wait_for(lambda: not behind(), lambda: f"still behind: {behind()}")
