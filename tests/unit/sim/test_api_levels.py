"""Clusters whose brokers speak one release with clients and another release with each other
(edu.api.level, inter.broker.protocol.version).
"""

import itertools

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.api_versions_table import API_LEVELS
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_edu.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_edu.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.events.replication import BecameLeader
from kafka_edu.trace.events.server import RequestRefused

LEVELS = ("2.0", "2.8")
PROTOCOLS = ("2.0", "2.1", "2.3", "2.4", "2.6", "2.7", "2.8")
T0 = TopicPartition("t", 0)
SESSION_IS_OVER_MS = 15_000


def run(cluster, work):
    return cluster.run_as(SimProcess("test"), work)


def acknowledged(answer):
    return answer.acked is not None and answer.acked.error is Errors.NONE


@pytest.mark.parametrize(
    ("levels", "protocol"),
    [
        (levels, protocol)
        for levels in itertools.product(LEVELS, repeat=2)
        for protocol in PROTOCOLS
    ],
)
def test_a_cluster_of_any_level_and_protocol_serves_elects_and_stops(levels, protocol):
    """The first broker, which is the controller, and the other two each have their own level."""
    own = {
        1: {"edu.api.level": levels[0]},
        2: {"edu.api.level": levels[1]},
        3: {"edu.api.level": levels[1]},
    }
    cluster = SimCluster(
        11,
        properties={"inter.broker.protocol.version": protocol, "min.insync.replicas": "2"},
        broker_properties=own,
    )
    cluster.start_all()
    client = SimClient(cluster)
    assert run(cluster, client.create_topic("t", 1, 3)) is Errors.NONE
    cluster.advance(2000)
    leader = run(cluster, client.leader_of(T0))
    assert leader in cluster.brokers
    before = client.produce(T0, "before", acks=-1)
    cluster.advance(2000)
    assert acknowledged(before)

    cluster.kill(leader)
    cluster.advance(SESSION_IS_OVER_MS)
    assert run(cluster, client.leader_of(T0)) not in (-1, leader)
    after = client.produce(T0, "after", acks=-1)
    cluster.advance(2000)
    assert acknowledged(after)

    cluster.start(leader)
    cluster.advance(5000)
    values = [value for _, value in run(cluster, client.consume(T0))]
    assert values == ["before", "after"]
    elected = len(cluster.facts(BecameLeader))
    second = run(cluster, client.leader_of(T0))
    cluster.stop(second)
    cluster.advance(1000)
    assert len(cluster.facts(BecameLeader)) > elected, "the controlled shutdown moved the leader"
    assert cluster.facts(RequestRefused) == []
    cluster.close()


@pytest.fixture
def mixed():
    """One broker that offers 2.0 and speaks 2.8."""
    cluster = SimCluster(5, (1,), {"edu.api.level": "2.0"})
    cluster.start_all()
    yield cluster
    cluster.close()


def ask(cluster, request, version, response_type):
    async def body():
        client = NetworkClient(cluster.network.transport(), "somebody")
        await client.connect("127.0.0.1", cluster.port(1), 1000)
        try:
            return await client.ask(request, version, response_type, 1000)
        finally:
            client.close()

    return run(cluster, body())


def test_api_versions_shows_the_level_to_everybody(mixed):
    for request, version in ((ApiVersionsRequest(), 2), (ApiVersionsRequest(), 0)):
        answer = ask(mixed, request, version, ApiVersionsResponse)
        assert {(k.api_key, k.min_version, k.max_version) for k in answer.api_keys} == {
            (k, *v) for k, v in API_LEVELS["2.0"].items()
        }


def test_api_versions_above_the_level_is_answered_with_unsupported_version(mixed):
    """KIP-511: the answer has the form of v0, whatever version was requested."""

    answer = ask(
        mixed,
        ApiVersionsRequest(client_software_name="test", client_software_version="1"),
        3,
        ApiVersionsResponse,
    )
    assert answer.error_code == Errors.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("request_", "version", "response_type"),
    [
        (FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, topics=[]), 11, FetchResponse),
        (ListOffsetsRequest(replica_id=-1, topics=[]), 5, ListOffsetsResponse),
        (OffsetForLeaderEpochRequest(replica_id=-2, topics=[]), 4, OffsetForLeaderEpochResponse),
    ],
)
def test_a_client_above_the_level_loses_its_connection(mixed, request_, version, response_type):
    with pytest.raises(ConnectionError):
        ask(mixed, request_, version, response_type)
    (refused,) = mixed.facts(RequestRefused)
    assert "UNSUPPORTED_VERSION" in refused.event.reason


@pytest.mark.parametrize(
    ("request_", "version", "response_type"),
    [
        (FetchRequest(replica_id=2, max_wait_ms=0, min_bytes=0, topics=[]), 12, FetchResponse),
        (ListOffsetsRequest(replica_id=2, topics=[]), 6, ListOffsetsResponse),
        (OffsetForLeaderEpochRequest(replica_id=2, topics=[]), 4, OffsetForLeaderEpochResponse),
    ],
)
def test_a_follower_is_served_what_the_protocol_between_brokers_says(
    mixed, request_, version, response_type
):
    assert ask(mixed, request_, version, response_type) is not None
    assert mixed.facts(RequestRefused) == []
