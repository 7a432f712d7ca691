"""A session expires while its broker starts. This is tried at every half millisecond of the start.

The broker is registered all the same, under its new session. If a request is under way, it may fail
with SESSION_EXPIRED. Then the start fails too, as in Kafka.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_edu.cluster.broker import Broker
from kafka_edu.server.kafka_server import BrokerState
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.server import BrokerRegistered, SessionLost
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode

STEP_MS = 0.5
SESSION_MS = 2.0
"""After this time the broker has its first session."""


@contextmanager
def one_broker() -> Iterator[SimCluster]:
    cluster = SimCluster(7, (1,))
    yield cluster
    cluster.close()


def session(cluster: SimCluster) -> int:
    client = cluster.brokers[1].zk_client
    assert client is not None
    return client.session_id


def owners(cluster: SimCluster) -> set[int]:
    """Return the sessions of the broker's two ephemeral znodes."""
    return {
        cluster.zookeeper.server.tree.node(path).ephemeral_owner
        for path in ("/brokers/ids/1", "/controller")
    }


def start_takes_ms() -> float:
    with one_broker() as cluster:
        began = cluster.time.hi_res_clock_ms()
        cluster.start(1)
        took = cluster.time.hi_res_clock_ms() - began
        cluster.advance(1000)
        return took


def started_with_an_expiry_after(cluster: SimCluster, ms: float) -> bool:
    cluster.loop.call_later(ms / 1000, lambda: cluster.zookeeper.expire(session(cluster)))
    try:
        cluster.start(1)
    except ZkError as error:
        if error.code is not ZkErrorCode.SESSION_EXPIRED:
            raise
        cluster.stop(1)
        return False
    cluster.advance(20_000)
    return True


def test_at_whatever_moment() -> None:
    survived = registered_twice = 0
    for step in range(int((start_takes_ms() - SESSION_MS) / STEP_MS)):
        with one_broker() as cluster:
            if not started_with_an_expiry_after(cluster, SESSION_MS + step * STEP_MS):
                continue
            assert cluster.facts(SessionLost)
            assert cluster.brokers[1].running.state is BrokerState.RUNNING
            assert not cluster.brokers[1].running.failed.is_set()
            assert owners(cluster) == {session(cluster)}
            survived += 1
            registered_twice += len(cluster.facts(BrokerRegistered)) == 2
    assert survived > registered_twice > 0


def test_between_the_registration_and_the_turn_in_which_the_broker_hears_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A loop that stood still finds two things at once: the answer to the registration, and the end
    of its session.
    """
    register = KafkaZkClient.register_broker
    with one_broker() as cluster:

        async def register_and_hear_late(
            zk: KafkaZkClient, broker: Broker, wait_ms: float = 0
        ) -> int:
            epoch = await register(zk, broker, wait_ms)
            monkeypatch.undo()
            cluster.zookeeper.expire(session(cluster))
            await asyncio.sleep(20)
            return epoch

        monkeypatch.setattr(KafkaZkClient, "register_broker", register_and_hear_late)
        cluster.start(1)
        lost = [envelope.event.session_id for envelope in cluster.facts(SessionLost)]
        cluster.advance(1000)
        assert len(lost) == 1
        assert owners(cluster) == {session(cluster)}
        assert session(cluster) not in lost
