"""Two brokers, one of ours and one of Apache Kafka, each with a control plane. Whichever of them is
the controller sends its requests to the other one's control plane listener (spec C10).
"""

import asyncio
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.apache_kafka import SMALL, apache_kafka
from kafka_edu.cli.demo_topic import wait_until_in_sync
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.supervisor.cluster import running_cluster
from kafka_edu.supervisor.cluster_spec import HOST
from kafka_edu.supervisor.readiness import Answers, answers_of
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.network import ConnectionOpened, RequestReceived
from kafka_edu.trace.events.replication import BecameFollower
from kafka_edu.trace.reader import open_recording
from tests.conformance.broker_processes import OF_A_SMALL_HEAP
from tests.interop.client_contract import rd
from tests.interop.external_programs import apache_kafka_jars
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.interop

OURS, APACHE = 0, 7
TOPIC = "t"
PROPS = {"control.plane.listener.name": "CONTROL", "auto.leader.rebalance.enable": "false"}
OF_APACHE = {
    **PROPS,
    **OF_A_SMALL_HEAP,
    "broker.id": str(APACHE),
    "listeners": "PLAINTEXT://127.0.0.1:{port},CONTROL://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT",
}
OF_THE_CONTROLLER = {ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA}


def listeners_of_the_controllers_requests(recording: list[Envelope]) -> dict[str, set[ApiKey]]:
    """Return which of the controller's requests arrived on each listener."""
    listener = {
        e.event.connection_id: e.event.listener
        for e in recording
        if isinstance(e.event, ConnectionOpened)
    }
    found: dict[str, set[ApiKey]] = {}
    for envelope in recording:
        if (
            isinstance(envelope.event, RequestReceived)
            and envelope.event.api_key in OF_THE_CONTROLLER
        ):
            found.setdefault(listener[envelope.event.connection_id], set()).add(
                ApiKey(envelope.event.api_key)
            )
    return found


def test_either_controller_talks_to_the_other_broker_by_the_control_plane(tmp_path: Path) -> None:
    jars = apache_kafka_jars()
    record = tmp_path / "ours.record"
    props = PROPS | {"edu.record.file": str(record), "edu.record.level": "hops"}
    with running_cluster("control", brokers=1, props=props) as cluster:
        assert cluster.wait_ready() == OURS
        with apache_kafka(
            jars,
            1,
            [f"{key}={value}" for key, value in OF_APACHE.items()],
            cluster.zookeeper_connect,
            SMALL,
        ) as kafka:
            servers = f"{cluster.bootstrap_servers},{kafka.bootstrap}"
            admin = AdminClient(rd(servers))
            admin.create_topics(
                [NewTopic(TOPIC, 2, replica_assignment=[[OURS, APACHE], [APACHE, OURS]])]
            )[TOPIC].result(PATIENCE_S)
            wait_until_in_sync(
                servers, TOPIC, 2, replicas=2
            )  # Apache Kafka's broker received our controller's request
            producer = Producer(rd(servers, acks="all"))
            producer.produce(TOPIC, b"ours rules", partition=1)
            assert producer.flush(PATIENCE_S) == 0

            cluster.stop(OURS)  # now Apache Kafka's broker becomes the controller
            producer.produce(TOPIC, b"theirs rules", partition=0)
            assert producer.flush(PATIENCE_S) == 0
            cluster.start(OURS)  # ready under a controller that this supervisor did not start
            assert cluster.wait_ready() == APACHE
            found = asyncio.run(answers_of(SocketTransport(), [(HOST, cluster.port(OURS))]))
            assert found == Answers(APACHE, {OURS: cluster.port(OURS), APACHE: kafka.ports[0]})
            wait_until_in_sync(servers, TOPIC, 2, replicas=2)
            # When our broker stops, the controller sends it StopReplica but does not wait for the
            # answer. When a topic is deleted, the controller waits for the answer. So delete one.
            # The first client may still know the old controller, and librdkafka would keep it.
            another = AdminClient(rd(servers))
            another.delete_topics([TOPIC])[TOPIC].result(PATIENCE_S)
            replica = cluster.folder.broker_data(OURS) / f"{TOPIC}-0"
            wait_for(lambda: not replica.exists(), "our replica is deleted")
            cluster.stop(OURS)
    first, second = (
        open_recording(str(tmp_path / name)) for name in ("ours.record.1", "ours.record")
    )
    assert set(listeners_of_the_controllers_requests(first)) == {"CONTROL"}
    assert listeners_of_the_controllers_requests(second) == {
        "CONTROL": {ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA, ApiKey.STOP_REPLICA}
    }
    assert any(isinstance(envelope.event, BecameFollower) for envelope in second)
