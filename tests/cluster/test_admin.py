"""Admin requests of an unmodified client to three broker processes, on both ZooKeepers."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaError, Producer, TopicPartition
from confluent_kafka import Message as Delivered
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from kafka_edu.common.errors import Errors
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_edu.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.metadata import MetadataRequest
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.replication.fetch_params import DEBUGGING_REPLICA_ID
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.cluster.processes import start_all
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster
BROKERS = (0, 1, 2)
ANSWER_MS = PATIENCE_S * 1000


@pytest.fixture(scope="module")
def shared(zookeeper: str) -> Iterator[Cluster]:
    with running_cluster("admin", zookeeper=zookeeper) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: Cluster) -> Cluster:
    """Return the cluster with all brokers up, whatever an earlier test did."""
    start_all(shared)
    return shared


@pytest.fixture
def admin(cluster: Cluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})


def create(admin: AdminClient, topic: str, partitions: int = 3) -> None:
    admin.create_topics([NewTopic(topic, partitions, 3)])[topic].result(PATIENCE_S)


def delivered(cluster: Cluster, topic: str, partition: int, value: bytes) -> KafkaError | None:
    """Send one record with acks=all to one partition. Return its error."""
    errors: list[KafkaError | None] = []
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "log_level": 0,
            "message.max.bytes": 2_000_000,
        }
    )
    producer.produce(
        topic, value, partition=partition, on_delivery=lambda error, _: errors.append(error)
    )
    assert producer.flush(PATIENCE_S) == 0
    return errors[0]


def ask(
    cluster: Cluster, broker_id: int, request: Message, version: int
) -> Any:  # the caller knows the type of the answer
    """Send one request with this project's own client."""

    async def one() -> Any:
        client = NetworkClient(SocketTransport(), "test")
        await client.connect("127.0.0.1", cluster.port(broker_id), ANSWER_MS)
        assert request.KEY is not None
        try:
            return await client.ask(request, version, REGISTRY[request.KEY].response, ANSWER_MS)
        finally:
            client.close()

    return asyncio.run(one())


class Told(NamedTuple):
    """The information that a broker gives to clients."""

    brokers: set[int]
    hosts: dict[int, str]
    topics: set[str]


def told(cluster: Cluster, broker_id: int) -> Told:
    """Return the metadata that this broker sends. A client would ask any broker, and not every
    broker hears of a change at the same time.
    """
    answer = ask(cluster, broker_id, MetadataRequest(topics=None), 5)
    hosts = {broker.node_id: broker.host for broker in answer.brokers}
    return Told(set(hosts), hosts, {topic.name for topic in answer.topics})


def set_broker_configs(cluster: Cluster, name: str, configs: dict[str, str]) -> None:
    """Set the configs of the broker `name`, or of all brokers if `name` is empty. confluent-kafka
    cannot send a request with an empty name.
    """
    entries = [AlterableConfig(name=key, value=value) for key, value in configs.items()]
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=4, resource_name=name, configs=entries)]
    )
    (response,) = ask(cluster, int(name or 0), request, 1).responses
    assert response.error_code == 0, response.error_message


def log_start(cluster: Cluster, broker_id: int, topic: str, partition: int) -> int:
    """Return the log start offset of the replica on this broker, which may lead or follow. Return
    -1 if the broker has no replica.
    """

    wanted = ListOffsetsTopic(
        name=topic, partitions=[ListOffsetsPartition(partition_index=partition, timestamp=-2)]
    )
    response = ask(
        cluster, broker_id, ListOffsetsRequest(replica_id=DEBUGGING_REPLICA_ID, topics=[wanted]), 2
    )
    return int(response.topics[0].partitions[0].offset)


def folders(cluster: Cluster, topic: str) -> list[Path]:
    """Return the topic's folders in all log dirs, except those about to be deleted."""
    walked = (
        Path(folder, name) for folder, names, _ in os.walk(cluster.folder.path) for name in names
    )  # rglob fails if a folder disappears meanwhile
    return [
        path
        for path in walked
        if path.name.startswith(f"{topic}-") and not path.name.endswith("-delete")
    ]


def broker_value(admin: AdminClient, broker_id: int, key: str) -> tuple[str, ConfigSource]:
    resource = ConfigResource(ResourceType.BROKER, str(broker_id))
    entry = admin.describe_configs([resource])[resource].result(PATIENCE_S)[key]
    return entry.value, ConfigSource(entry.source)


def test_a_topics_config_is_taken_up_by_every_leader(cluster: Cluster, admin: AdminClient) -> None:
    create(admin, "narrow")
    large = b"x" * 5000
    assert [delivered(cluster, "narrow", p, large) for p in range(3)] == [None, None, None]
    entry = ConfigEntry("max.message.bytes", "1000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, "narrow", incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    for partition in range(3):

        def refused(partition: int = partition) -> bool:
            error = delivered(cluster, "narrow", partition, large)
            return error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE

        wait_for(refused, f"the leader of partition {partition} did not take max.message.bytes up")
        assert delivered(cluster, "narrow", partition, b"small") is None


def test_a_setting_of_all_brokers_and_one_of_a_single_one(
    cluster: Cluster, admin: AdminClient
) -> None:
    set_broker_configs(cluster, "", {"log.retention.ms": "3600000"})
    set_broker_configs(cluster, "1", {"log.retention.ms": "7200000"})
    default, own = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG
    expected = [("3600000", default), ("7200000", own), ("3600000", default)]
    wait_for(
        lambda: [broker_value(admin, b, "log.retention.ms") for b in BROKERS] == expected,
        "not every broker took log.retention.ms up",
    )


def test_handlers_are_resized_under_load(cluster: Cluster, admin: AdminClient) -> None:
    create(admin, "busy")
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "log_level": 0,
            "linger.ms": 0,
            "acks": "all",
        }
    )
    failures: list[KafkaError] = []

    def note(error: KafkaError | None, _: Delivered) -> None:
        if error is not None:
            failures.append(error)

    for size, workers in (("4", "5"), ("8", "10"), ("16", "10"), ("8", "10")):
        set_broker_configs(cluster, "", {"num.io.threads": size, "background.threads": workers})
        for number in range(300):
            producer.produce("busy", str(number), on_delivery=note)
            producer.poll(0)
        wait_for(
            lambda size=size: (
                {broker_value(admin, b, "num.io.threads")[0] for b in BROKERS} == {size}
            ),
            f"num.io.threads is not {size}",
        )  # type: ignore[misc]
    assert producer.flush(PATIENCE_S) == 0
    assert failures == []


def test_records_are_deleted_from_all_replicas(cluster: Cluster, admin: AdminClient) -> None:
    create(admin, "shortened", 1)
    for number in range(10):
        assert delivered(cluster, "shortened", 0, b"%d" % number) is None
    tp = TopicPartition("shortened", 0, 7)
    assert admin.delete_records([tp])[tp].result(PATIENCE_S).low_watermark == 7
    assert [log_start(cluster, broker_id, "shortened", 0) for broker_id in BROKERS] == [7, 7, 7]
    earliest = TopicPartition("shortened", 0)
    assert (
        admin.list_offsets({earliest: OffsetSpec.earliest()})[earliest].result(PATIENCE_S).offset
        == 7
    )


def test_partitions_are_added_under_a_running_producer(
    cluster: Cluster, admin: AdminClient
) -> None:
    """The producer notices the new partitions by itself, and no record is lost on the way."""
    create(admin, "growing", 2)
    partitions: dict[int, int] = {}
    failures: list[KafkaError] = []

    def note(error: KafkaError | None, message: Delivered) -> None:
        if error is not None:
            failures.append(error)
        else:
            partitions[message.partition()] = partitions.get(message.partition(), 0) + 1

    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "log_level": 0,
            "acks": "all",
            "topic.metadata.refresh.interval.ms": 200,
            "partitioner": "random",
            "sticky.partitioning.linger.ms": 0,
        }
    )
    sent = 0

    def send() -> int:
        nonlocal sent
        producer.produce("growing", str(sent), on_delivery=note)
        sent += 1
        producer.poll(0)
        return len(partitions)

    wait_for(lambda: send() == 2, "the two partitions were not written to")
    admin.create_partitions([NewPartitions("growing", 6)])["growing"].result(PATIENCE_S)
    wait_for(lambda: send() == 6, "the new partitions were not written to")
    assert producer.flush(PATIENCE_S) == 0
    assert failures == []
    assert sum(partitions.values()) == sent
    ends = [TopicPartition("growing", number) for number in range(6)]
    offsets = admin.list_offsets({tp: OffsetSpec.latest() for tp in ends})
    assert sum(offsets[tp].result(PATIENCE_S).offset for tp in ends) == sent


def test_a_topic_is_deleted_while_a_broker_is_down(cluster: Cluster, admin: AdminClient) -> None:
    """The topic is gone for clients at once, and soon from the other brokers' disks.

    The broker that was down deletes the topic after it has started again.
    """
    create(admin, "doomed")
    wait_for(
        lambda: len(folders(cluster, "doomed")) == 3 * len(BROKERS),
        "a broker did not make its replicas",
    )  # the topic has leaders before every follower has its log
    controller = admin.list_topics(timeout=PATIENCE_S).controller_id
    down = next(broker_id for broker_id in BROKERS if broker_id != controller)
    cluster.kill(down)
    living = [broker_id for broker_id in BROKERS if broker_id != down]
    wait_for(
        lambda: all(len(told(cluster, each).brokers) == 2 for each in living),
        "the broker's session did not expire",
    )
    admin.delete_topics(["doomed"], operation_timeout=PATIENCE_S)["doomed"].result(PATIENCE_S)
    wait_for(
        lambda: not any("doomed" in told(cluster, each).topics for each in living),
        "clients are told of it still",
    )  # each broker hears of it by itself
    wait_for(
        lambda: {path.parts[-3] for path in folders(cluster, "doomed")} == {f"broker-{down}"},
        "live brokers did not delete their replicas",
    )
    cluster.start(down)
    wait_for(
        lambda: not folders(cluster, "doomed"),
        "the broker that was down did not delete its replicas",
    )

    def create_again() -> Errors:
        request = CreateTopicsRequest(
            topics=[CreatableTopic(name="doomed", num_partitions=1, replication_factor=3)],
            timeout_ms=10_000,
        )
        return Errors.of(
            ask(cluster, admin.list_topics(timeout=PATIENCE_S).controller_id, request, 4)
            .topics[0]
            .error_code
        )

    wait_for(lambda: create_again() is Errors.NONE, "the deletion is not complete")


def test_a_running_broker_is_advertised_under_another_name(cluster: Cluster) -> None:
    """The broker writes its znode again, the controller informs all brokers, and the brokers inform
    the clients.
    """
    set_broker_configs(
        cluster, "1", {"advertised.listeners": f"PLAINTEXT://localhost:{cluster.port(1)}"}
    )
    wait_for(
        lambda: all(told(cluster, each).hosts[1] == "localhost" for each in BROKERS),
        "clients are not told of it",
    )
    again = AdminClient(
        {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    )  # a broker that has not heard of it yet stops its work when it hears
    create(again, "moved")
    assert [delivered(cluster, "moved", partition, b"x") for partition in range(3)] == [None] * 3
