"""A listener only for the controller (KIP-291; spec C10).

The controller is served while the data plane is stuck, and nothing else uses this listener.
"""

from collections.abc import Awaitable

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from kafka_edu.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Level
from kafka_edu.trace.events.network import ConnectionOpened, RequestReceived
from kafka_edu.trace.events.replication import BecameFollower
from kafka_edu.trace.events.server import BrokerRegistered

SEPARATE = {"control.plane.listener.name": "CONTROL"}
OF_THE_CONTROLLER = {ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA}
TOPIC_RESOURCE = 2


def started(properties: dict[str, str]) -> tuple[SimCluster, SimClient]:
    cluster = SimCluster(
        3,
        (1, 2),
        {"num.io.threads": "1", "zookeeper.session.timeout.ms": "60000", **properties},
        level=Level.HOPS,
    )
    cluster.start_all()
    client = SimClient(cluster)
    assert cluster.run_as(client.process, client.create_topic("t", 2, 2)) is Errors.NONE
    cluster.advance(1000)
    return cluster, client


def test_the_controllers_requests_come_by_its_listener_and_all_others_do_not() -> None:
    cluster, client = started(SEPARATE)
    client.produce(TopicPartition("t", 0), "a", -1)
    cluster.advance(1000)
    listener_of = {
        (e.broker, e.event.connection_id): e.event.listener
        for e in cluster.facts(ConnectionOpened)
        if isinstance(e.event, ConnectionOpened)
    }
    received = [
        (listener_of[e.broker, e.event.connection_id], ApiKey(e.event.api_key))
        for e in cluster.facts(RequestReceived)
        if isinstance(e.event, RequestReceived)
    ]
    by_control_plane = {key for listener, key in received if listener == "CONTROL"}
    by_data_plane = {key for listener, key in received if listener == "PLAINTEXT"}
    assert by_control_plane == {ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA}
    assert not by_data_plane & OF_THE_CONTROLLER
    assert by_data_plane >= {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, ApiKey.CREATE_TOPICS}


def test_it_is_registered_beside_the_others() -> None:
    cluster, _ = started(SEPARATE)
    for envelope in cluster.facts(BrokerRegistered):
        assert isinstance(envelope.event, BrokerRegistered)
        names = [end_point.partition("://")[0] for end_point in envelope.event.end_points]
        assert names == ["PLAINTEXT", "CONTROL"]


def test_without_it_they_come_by_the_listener_between_brokers() -> None:
    cluster, _ = started({})
    listeners = {
        e.event.listener
        for e in cluster.facts(ConnectionOpened)
        if isinstance(e.event, ConnectionOpened)
    }
    keys = {
        e.event.api_key
        for e in cluster.facts(RequestReceived)
        if isinstance(e.event, RequestReceived)
    }
    assert listeners == {"PLAINTEXT"}
    assert keys >= {ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA}


@pytest.mark.parametrize("separate", [True, False])
def test_while_all_handlers_of_the_data_plane_wait_the_controller_is_heard(separate: bool) -> None:
    """The only handler of broker 2 waits for a ZooKeeper that it cannot reach. In this time the
    controller makes other brokers leaders in place of broker 2.
    """
    cluster, client = started(SEPARATE if separate else {})
    zookeeper = cluster.brokers[2].zk_client
    assert zookeeper is not None

    async def ask(
        broker_id: int,
        request: AlterConfigsRequest | ControlledShutdownRequest,
        version: int,
        response: type,
    ) -> object:
        network = NetworkClient(cluster.network.transport(), "script")
        await network.connect("127.0.0.1", cluster.port(broker_id), 1000)
        return await network.ask(request, version, response, 600_000)

    zookeeper.cut()
    wanted = AlterableConfig(name="retention.ms", value="5000")
    alter = AlterConfigsRequest(
        resources=[
            AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name="t", configs=[wanted])
        ],
        validate_only=False,
    )
    stuck = cluster.loop.spawn(client.process, ask(2, alter, 1, AlterConfigsResponse))
    cluster.advance(100)
    assert not stuck.done()
    leaving: Awaitable[object] = ask(
        1, ControlledShutdownRequest(broker_id=2), 3, ControlledShutdownResponse
    )
    answer = cluster.run_as(client.process, leaving)
    assert isinstance(answer, ControlledShutdownResponse)
    assert (answer.error_code, answer.remaining_partitions) == (Errors.NONE, [])
    cluster.advance(1000)

    def told() -> list[int]:
        return [
            e.event.partition
            for e in cluster.facts(BecameFollower)
            if isinstance(e.event, BecameFollower) and e.broker == 2 and e.event.leader_epoch == 1
        ]

    assert (len(told()) == 1) is separate, "one of the two partitions was led by broker 2"
    assert not stuck.done()
    zookeeper.mend()
    cluster.advance(5000)
    assert stuck.done()
    assert len(told()) == 1
