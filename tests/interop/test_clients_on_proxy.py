"""Unmodified clients bootstrap from a metadata proxy. They then produce and consume with brokers
whose addresses were not in their configuration (spec B1, B2; docs/metadata-proxy.md).

Some clients send more than Metadata requests to their bootstrap server. They also believe that an
API which is not in its ApiVersions is missing in the whole cluster. For these clients the proxy can
list the APIs of the cluster (--target-versions). It then refuses their other requests by closing
the connection, as a stopping broker does, and the clients go to a broker.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from kafka.errors import IncompatibleBrokerVersion

from kafka_edu.clients.proxy.metadata_copy import MetadataCopy
from kafka_edu.clients.proxy.recording import write_recording
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import API_LEVELS
from kafka_edu.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from kafka_edu.supervisor.running_proxy import RunningProxy, running_proxy
from kafka_edu.trace.events.proxy import ProxyAnswered, ProxyRefused
from tests.interop import test_client_confluent, test_client_java, test_client_kafka_python
from tests.interop.client_contract import (
    Client,
    Program,
    create_topic,
    fill,
    leaders,
    read_all,
    value,
)
from tests.interop.external_programs import built, python_package, tool
from tests.waiting import wait_for

COUNT: Final = 50


def aiokafka() -> Client:
    """Return a client on aiokafka, or skip the test."""
    python_package("aiokafka")
    from tests.interop.aiokafka_client import AioKafka

    return AioKafka()


def go(folder: str) -> Client:
    """Return a client in Go, or skip the test."""
    where = built(folder, (tool("go", "golang"), "build", "-o", "client", "."))
    return Program(folder, (where / "client",))


def kafkajs() -> Client:
    """Return the client in JavaScript, or skip the test."""
    node = tool("node", "nodejs npm")
    where = built("kafkajs", (tool("npm", "npm"), "ci", "--no-audit", "--no-fund"))
    return Program("kafkajs", (node, where / "client.js"))


CLIENTS: Final[dict[str, Callable[[], Client]]] = {
    "confluent-kafka": test_client_confluent.Confluent,
    "kafka-python": test_client_kafka_python.KafkaPython,
    "aiokafka": aiokafka,
    "java-2.0.0": lambda: test_client_java.java_client("2.0.0"),
    "java-3.9.1": lambda: test_client_java.java_client("3.9.1"),
    "java-4.1.1": lambda: test_client_java.java_client("4.1.1"),
    "sarama": lambda: go("sarama"),
    "franz": lambda: go("franz"),
    "kafkajs": kafkajs,
}
#: Clients that produce although the proxy lists only Metadata and ApiVersions.
ASK_FOR_METADATA_ALONE: Final = ("confluent-kafka", "aiokafka", "sarama", "franz")
#: Settings for a slow machine: a target that takes long to answer is not down.
PATIENT: Final = ("--refresh-ms", "200", "--timeout-ms", "30000")
#: The first test of each client fetches and builds that client, so the time-out is long.
pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def honest(
    servers: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningProxy, str]]:
    """Yield a proxy that lists only the APIs that it serves, and its address."""
    with running_proxy(tmp_path_factory.mktemp("honest"), "--target", servers, *PATIENT) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def claiming(
    servers: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningProxy, str]]:
    """Yield a proxy that lists the APIs of the cluster, and its address."""
    with running_proxy(
        tmp_path_factory.mktemp("claiming"), "--target", servers, *PATIENT, "--target-versions"
    ) as proxy:
        yield proxy


def topic_on(servers: str, address: str, topic: str) -> None:
    """Create a topic on the cluster. Returns when the proxy's copy has its leaders."""
    create_topic(servers, topic, 3)
    wait_for(lambda: leaders(address, topic, 3), f"the proxy's copy of {topic}")


def answered(proxy: RunningProxy) -> set[ApiKey]:
    return {
        ApiKey(envelope.event.api_key)
        for envelope in proxy.events()
        if isinstance(envelope.event, ProxyAnswered)
    }


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_that_boots_on_the_proxy_works_with_the_brokers(
    servers: str, claiming: tuple[RunningProxy, str], name: str
) -> None:
    client = CLIENTS[name]()
    proxy, address = claiming
    topic = f"on-proxy-{name}"
    topic_on(servers, address, topic)
    client.produce(address, topic, COUNT, "none")
    assert sorted(
        message.value().decode() for message in read_all(servers, topic, 3, COUNT)
    ) == sorted(map(value, range(COUNT)))
    assert sorted(record.value for record in client.consume(address, topic, COUNT)) == sorted(
        map(value, range(COUNT))
    )
    assert answered(proxy) == {ApiKey.METADATA, ApiKey.API_VERSIONS}


@pytest.mark.parametrize("name", ASK_FOR_METADATA_ALONE)
def test_who_asks_for_metadata_alone_is_served_by_what_a_proxy_lists(
    servers: str, honest: tuple[RunningProxy, str], name: str
) -> None:
    client = CLIENTS[name]()
    proxy, address = honest
    topic = f"on-honest-proxy-{name}"
    topic_on(servers, address, topic)
    client.produce(address, topic, COUNT, "none")
    assert sorted(record.value for record in client.consume(address, topic, COUNT)) == sorted(
        map(value, range(COUNT))
    )
    assert [
        envelope for envelope in proxy.events() if isinstance(envelope.event, ProxyRefused)
    ] == []


@pytest.mark.parametrize("name", ["java-3.9.1", "java-4.1.1"])
def test_an_idempotent_producer_asks_its_bootstrap_server_for_a_producer_id(
    servers: str, honest: tuple[RunningProxy, str], name: str
) -> None:
    """Such a client may send its request to any server, so it uses the one that it knows. It
    believes that an API which this server does not list is impossible, and gives up. The consumer
    does not need that API.
    """
    client = CLIENTS[name]()
    _, address = honest
    topic = f"idempotent-{name}"
    topic_on(servers, address, topic)
    with pytest.raises(AssertionError, match="The node does not support INIT_PRODUCER_ID"):
        client.produce(address, topic, COUNT, "none")
    acked = fill(servers, topic, COUNT)
    assert sorted(client.consume(address, topic, COUNT)) == acked


def test_kafkajs_judges_the_cluster_by_its_first_server(
    servers: str, honest: tuple[RunningProxy, str]
) -> None:
    _, address = honest
    topic_on(servers, address, "judged-by-kafkajs")
    with pytest.raises(AssertionError, match="does not support the requested API version"):
        CLIENTS["kafkajs"]().produce(address, "judged-by-kafkajs", COUNT, "none")


def test_kafka_python_judges_the_cluster_by_its_first_server(
    servers: str, honest: tuple[RunningProxy, str]
) -> None:
    _, address = honest
    topic_on(servers, address, "judged")
    with pytest.raises(IncompatibleBrokerVersion, match="InitProducerIdRequest"):
        CLIENTS["kafka-python"]().produce(address, "judged", COUNT, "none")


def test_java_2_wants_produce_of_every_server(
    servers: str, honest: tuple[RunningProxy, str]
) -> None:
    """Even its consumer fails, because it looks for the newest record format that all servers
    support. (Its producer does the same, reports it only in its log, and hangs.)
    """
    _, address = honest
    topic_on(servers, address, "wanted")
    with pytest.raises(AssertionError, match="The broker does not support PRODUCE"):
        CLIENTS["java-2.0.0"]().consume(address, "wanted", COUNT)


def test_a_client_that_names_its_topic_at_once_is_led_by_it(servers: str, tmp_path: Path) -> None:
    """The Java client does this. The rule without a topic would lead it to a cluster that does not
    exist.
    """
    create_topic(servers, "audit", 3)
    nowhere = MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=0, host="kafka.invalid", port=9092)], topics=[]
    )
    tape = tmp_path / "tape.json"
    tape.write_bytes(write_recording(MetadataCopy(nowhere, API_LEVELS["2.8"], 11, "nobody", 0)))
    options = (
        "--target",
        f"cluster={servers}",
        "--replay",
        f"tape={tape}",
        "--route",
        "topic=audit* to=cluster",
        "--route",
        "to=tape",
    )
    client = CLIENTS["java-3.9.1"]()
    with running_proxy(tmp_path, *options, "--target-versions") as (proxy, address):
        client.produce(address, "audit", COUNT, "none")
        assert {
            e.event.target
            for e in proxy.events()
            if isinstance(e.event, ProxyAnswered) and e.event.api_key == ApiKey.METADATA
        } == {"cluster"}
    assert len(read_all(servers, "audit", 3, COUNT)) == COUNT
