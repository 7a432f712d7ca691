"""A metadata proxy in front of two real clusters: to which cluster the proxy leads a client, and
what happens when one cluster is gone (spec B3).
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.supervisor.running_proxy import RunningProxy, running_proxy
from kafka_edu.trace.events.proxy import ProxyAnswered, ProxyRefused, TargetStateChanged
from tests.cluster.processes import start_all
from tests.waiting import PATIENCE_S, wait_for

RULES: Final = """
# the first line that matches counts
client=billing-*  to=west
topic=audit.*     to=west
client=web-*      to=east,west
                  to=east
"""
WEB_CLIENTS: Final = tuple(f"web-{i}" for i in range(8))
PROPS: Final = {"auto.create.topics.enable": "false"}
pytestmark = pytest.mark.cluster


class World(NamedTuple):
    east: Cluster
    west: Cluster
    proxy: RunningProxy
    address: str

    def boot(self, client_id: str) -> str:
        """Return the cluster to which this client is led."""
        client = AdminClient(
            {"bootstrap.servers": self.address, "client.id": client_id, "log_level": 0}
        )
        (broker,) = client.list_topics(timeout=PATIENCE_S).brokers.values()
        return {self.east.port(0): "east", self.west.port(0): "west"}[broker.port]

    def boots(self) -> dict[str, str]:
        return {client: self.boot(client) for client in WEB_CLIENTS}


@pytest.fixture
def world(shared: World) -> World:
    """Return two clusters that are up and that the proxy knows, whatever an earlier test has
    done.
    """
    start_all(shared.west)
    wait_for(
        lambda: all(states_of(shared.proxy, target)[-1:] == ["Up"] for target in ("east", "west")),
        "both are up",
    )
    return shared


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    with (
        running_cluster("east", brokers=1, props=PROPS) as east,
        running_cluster("west", brokers=1, props=PROPS) as west,
        tempfile.TemporaryDirectory() as folder,
    ):
        for cluster, topic in ((east, "web"), (west, "web"), (west, "audit.log")):
            make_topic(cluster.bootstrap_servers, topic, 1, 1)
        routes = Path(folder) / "routes.txt"
        routes.write_text(RULES)
        targets = (
            "--target",
            f"east={east.bootstrap_servers}",
            "--target",
            f"west={west.bootstrap_servers}",
        )
        with running_proxy(
            Path(folder),
            *targets,
            "--routes",
            str(routes),
            "--refresh-ms",
            "200",
            "--timeout-ms",
            "30000",
        ) as (proxy, address):
            yield World(east, west, proxy, address)


def states_of(proxy: RunningProxy, target: str) -> list[str]:
    return [
        e.event.after
        for e in proxy.events()
        if isinstance(e.event, TargetStateChanged) and e.event.target == target
    ]


def test_by_client_id_and_spread(world: World) -> None:
    assert world.boot("billing-7") == "west"
    assert world.boot("somebody") == "east"
    booted = world.boots()
    assert set(booted.values()) == {"east", "west"}
    assert world.boots() == booted


def test_a_topics_rule_does_not_lead_a_client_whose_first_request_names_no_topic(
    world: World,
) -> None:
    """librdkafka's first request names no topic, so the proxy uses the rule without a topic.

    librdkafka sends its next request, which names the topic, to a broker or to the proxy, by
    chance. So only a rule for the client id leads librdkafka to the right cluster for certain. The
    Java clients name their topic at once (tests/interop/test_clients_on_proxy.py).
    """

    def led_to(client_id: str) -> list[str]:
        return [
            e.event.target
            for e in world.proxy.events()
            if isinstance(e.event, ProxyAnswered)
            and e.event.client_id == client_id
            and e.event.target
        ]

    def booted(client_id: str) -> Producer:
        producer = Producer(
            {
                "bootstrap.servers": world.address,
                "client.id": client_id,
                "message.timeout.ms": PATIENCE_S * 1000,
                "log_level": 0,
            }
        )
        wait_for(lambda: led_to(client_id), f"{client_id} is led")
        return producer

    fates: list[KafkaError | None] = []
    producer = booted("billing-1")
    producer.produce("audit.log", b"x", on_delivery=lambda error, _: fates.append(error))
    producer.flush(PATIENCE_S)
    assert fates == [None]
    booted("somebody")
    assert led_to("somebody")[0] == "east"


def test_the_clients_of_a_cluster_that_is_gone_boot_on_the_other_until_it_is_back(
    world: World,
) -> None:
    before, states = world.boots(), states_of(world.proxy, "west")
    world.west.kill(0)
    wait_for(lambda: states_of(world.proxy, "west")[-1] == "Down", "the proxy finds it gone")
    assert set(world.boots().values()) == {"east"}
    refused = AdminClient(
        {"bootstrap.servers": world.address, "client.id": "billing-8", "log_level": 0}
    )
    with pytest.raises(KafkaException):
        refused.list_topics(timeout=3)

    def reasons() -> set[str]:
        return {
            e.event.reason
            for e in world.proxy.events()
            if isinstance(e.event, ProxyRefused) and e.event.client_id == "billing-8"
        }

    wait_for(reasons, "billing-8 is refused")
    assert reasons() == {"no target answers of west"}
    world.west.start(0)
    wait_for(lambda: states_of(world.proxy, "west")[-1] == "Up", "the proxy finds it back")
    assert world.boots() == before
    assert states_of(world.proxy, "west") == [*states, "Down", "Up"]
    assert states_of(world.proxy, "east") == ["Up"]
