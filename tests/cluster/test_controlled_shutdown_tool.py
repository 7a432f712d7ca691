"""ControlledShutdown sent for another broker, as the book proposes.

Afterwards that broker leads nothing and keeps running (spec G4).
"""

from collections.abc import Iterator

import pytest
from confluent_kafka import ElectionType, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.apache_kafka import SMALL, PeerMissing, apache_kafka, kafka_jars
from kafka_edu.cli.demo_topic import wait_until_in_sync
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.tools.controlled_shutdown import main
from tests.conformance.broker_processes import OF_A_SMALL_HEAP
from tests.interop.client_contract import known_by_all, rd, until_all_answer
from tests.interop.external_programs import missing
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster

TOPIC, ALONE = "led", "alone"
PARTITIONS = 6


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(
        "tool", brokers=3, props={"auto.leader.rebalance.enable": "false"}
    ) as running:
        yield running


def leaders(admin: AdminClient, topic: str = TOPIC) -> dict[int, int]:
    """Return the leaders as one of the brokers reports them. Not every broker hears of a change at
    the same time.
    """
    partitions = admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
    return {number: partition.leader for number, partition in partitions.items()}


def until_broker_leads(cluster: Cluster, broker: int, partitions: int) -> None:
    """Wait until all brokers report that `broker` leads this number of partitions."""
    until_all_answer(
        cluster.bootstrap_servers,
        TOPIC,
        lambda told: [p.leader_id for p in told.topics[0].partitions].count(broker) == partitions,
    )


def led_by(admin: AdminClient, broker: int) -> int:
    return sum(leader == broker for leader in leaders(admin).values())


def test_the_broker_leads_nothing_and_runs_on(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    controller = cluster.wait_ready()
    broker = next(each for each in cluster.broker_ids if each != controller)
    admin = AdminClient(rd(cluster.bootstrap_servers))
    topics = [NewTopic(TOPIC, PARTITIONS, 3), NewTopic(ALONE, 1, replica_assignment=[[broker]])]
    for future in admin.create_topics(topics).values():
        future.result(PATIENCE_S)
    wait_until_in_sync(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    until_broker_leads(cluster, broker, 2)
    known_by_all(cluster.bootstrap_servers, ALONE, 1)
    pid = cluster.pid(broker)

    words = [
        "--bootstrap-server",
        cluster.bootstrap_servers,
        "--broker",
        str(broker),
        "--zookeeper",
        cluster.zookeeper_connect,
    ]
    assert main(words) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[1:] == [
        "Partitions remaining: none",
        "Not counted, because no other replica could lead: alone-0",
        (
            f"Broker {broker} keeps running. The controller gives it no leadership until it is"
            " started again, or the controller changes."
        ),
    ]
    assert f"(id: {controller} rack: null) moved the leaders of broker {broker} away." in told[0]
    producer = Producer(rd(cluster.bootstrap_servers, acks="all"))
    for number in range(PARTITIONS):
        producer.produce(TOPIC, b"after", partition=number)
    producer.produce(ALONE, b"still", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    until_broker_leads(cluster, broker, 0)
    assert leaders(admin, ALONE) == {0: broker}
    assert cluster.pid(broker) == pid, "it runs on"
    refused = admin.elect_leaders(
        ElectionType.PREFERRED, [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    ).result(PATIENCE_S)
    assert (
        sum(
            error is not None and "PREFERRED_LEADER_NOT_AVAILABLE" in str(error)
            for error in refused.values()
        )
        == 2
    )
    assert led_by(admin, broker) == 0, "the controller lets it lead nothing"

    cluster.stop(broker)
    cluster.start(broker)
    wait_until_in_sync(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    admin.elect_leaders(ElectionType.PREFERRED, None).result(PATIENCE_S)
    until_broker_leads(cluster, broker, 2)


def test_it_is_refused(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--bootstrap-server", cluster.bootstrap_servers, "--broker", "77"]) == 1
    assert "org.apache.kafka.common.errors.BrokerNotAvailableException" in capsys.readouterr().err
    assert main(["--bootstrap-server", cluster.bootstrap_servers]) == 1
    assert 'Missing required argument "[broker]"' in capsys.readouterr().err


def test_apache_kafkas_controller_does_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    properties = [f"{key}={value}" for key, value in OF_A_SMALL_HEAP.items()] + [
        "auto.leader.rebalance.enable=false"
    ]
    try:
        jars = kafka_jars()
    except PeerMissing as error:
        missing(str(error))
    with apache_kafka(jars, 2, properties, java=SMALL) as kafka:
        admin = AdminClient(rd(kafka.bootstrap))
        admin.create_topics([NewTopic(TOPIC, 2, 2)])[TOPIC].result(PATIENCE_S)
        broker = 1
        wait_for(lambda: sorted(leaders(admin).values()) == [0, 1], "each leads one")
        assert (
            main(
                [
                    "--bootstrap-server",
                    kafka.bootstrap,
                    "--broker",
                    str(broker),
                    "--zookeeper",
                    kafka.zookeeper,
                ]
            )
            == 0
        )
        assert "Partitions remaining: none" in capsys.readouterr().out
        producer = Producer(rd(kafka.bootstrap, acks="all"))
        for number in range(2):
            producer.produce(TOPIC, b"after", partition=number)
        assert producer.flush(PATIENCE_S) == 0
        wait_for(lambda: list(leaders(admin).values()) == [0, 0], "all brokers report it")
