"""The metadata proxy in front of Apache Kafka: a client gets the same answer from the proxy as from
the broker, in every version (spec B1).
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kafka_edu.clients.proxy.target import Address
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.supervisor.running_proxy import running_proxy
from tests.golden.listeners import listener_cases as story
from tests.golden.listeners.record import TwoDoors, ask, two_doors
from tests.interop.external_programs import apache_kafka_jars
from tests.waiting import wait_for

HIGHEST: Final = {"2.0.1": 6, "2.8.2": 11}
GROUPS: Final = "abcdefgh"
pytestmark = pytest.mark.interop


@pytest.fixture(scope="module", params=HIGHEST)
def kafka(request: pytest.FixtureRequest) -> Iterator[tuple[TwoDoors, int]]:
    """Yield the three brokers of listener_cases with their topics, and their highest version of
    Metadata.
    """
    with two_doors(apache_kafka_jars(request.param)) as peer:
        wait_for(
            lambda: coordinator(peer.ports[0], "g", 1).error_code == Errors.NONE, "a coordinator"
        )
        yield peer, HIGHEST[request.param]


def coordinator(port: int, group: str, version: int) -> FindCoordinatorResponse:
    response = ask(port, FindCoordinatorRequest(key=group), version)
    assert isinstance(response, FindCoordinatorResponse)
    response.error_message = None  # a sentence for people; 2.0.1 has null where 2.8.2 has NONE
    return response


def metadata(
    port: int, names: list[str] | None, version: int, operations: bool
) -> MetadataResponse:
    """Return the answer to a Metadata request, with its brokers, topics and partitions sorted.

    In topics that do not exist, two values are replaced by fixed values, because the proxy cannot
    know them from its copy of the cluster's metadata: the authorized operations, and the error
    code for an invalid name, which is different in Kafka 2.0.1.
    """
    request = MetadataRequest(
        topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=version < 4,
        include_topic_authorized_operations=operations,
        include_cluster_authorized_operations=operations and version <= 10,
    )
    if names is None and version == 0:
        request.topics = []
    response = ask(port, request, version)
    assert isinstance(response, MetadataResponse)
    response.brokers.sort(key=lambda broker: broker.node_id)
    response.topics.sort(key=lambda topic: topic.name)
    for topic in response.topics:
        topic.partitions.sort(key=lambda partition: partition.partition_index)
        if topic.error_code:
            topic.topic_authorized_operations = 0
            topic.error_code = Errors.UNKNOWN_TOPIC_OR_PARTITION
    return response


def assert_same_answers(port: int, proxy: int, highest: int) -> None:
    versions = ask(proxy, ApiVersionsRequest(), 0)
    assert isinstance(versions, ApiVersionsResponse)
    assert {api.api_key: api.max_version for api in versions.api_keys} == {
        ApiKey.METADATA: highest,
        ApiKey.API_VERSIONS: 3,
        ApiKey.FIND_COORDINATOR: 3,
    }
    for version in range(highest + 1):
        for operations in (False, True) if version >= 8 else (False,):
            for names in (
                None,
                [story.TOPIC],
                [story.TOPIC, "nowhere", "a b"] if version >= 4 else [story.TOPIC],
            ):
                assert metadata(proxy, names, version, operations) == metadata(
                    port, names, version, operations
                )
    for group in GROUPS:
        for version in range(3):
            assert coordinator(proxy, group, version) == coordinator(port, group, version)


def has_gone(port: int, broker: int) -> bool:
    """Return whether the broker is out of every ISR, and reported as offline wherever it has a
    replica.
    """
    told = metadata(port, None, 5, False)
    partitions = [
        partition
        for topic in told.topics
        for partition in topic.partitions
        if broker in partition.replica_nodes
    ]
    gone = all(
        broker in partition.offline_replicas and broker not in partition.isr_nodes
        for partition in partitions
    )
    return gone and broker not in [listed.node_id for listed in told.brokers]


def test_the_proxy_answers_as_the_broker_does(kafka: tuple[TwoDoors, int], tmp_path: Path) -> None:
    """Compare on each listener: with all brokers up, and with one stopped, so that some replicas
    are offline and out of the ISR.
    """
    peer, highest = kafka
    doors = {"inside": peer.ports[0], "outside": peer.outside[0]}
    for state in ("all up", "one gone"):
        if state == "one gone":
            peer.stop(1)
            wait_for(lambda: has_gone(peer.ports[0], 1), "broker 1 leads and follows nothing")
        for door, port in doors.items():
            for attempt in itertools.count():
                folder = tmp_path / f"{door} {state} {attempt}"
                folder.mkdir()
                known = metadata(port, None, 5, False)
                try:
                    with running_proxy(
                        folder,
                        "--target",
                        str(Address("127.0.0.1", port)),
                        "--find-coordinator",
                        "--refresh-ms",
                        "60000",
                    ) as (
                        _,
                        address,
                    ):
                        assert_same_answers(port, int(address.rpartition(":")[2]), highest)
                    break
                except AssertionError:
                    if metadata(port, None, 5, False) == known:
                        raise
                    # The cluster has changed since the proxy copied it, as after a broker's stop.
                    # Compare again with a new copy.
