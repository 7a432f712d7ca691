"""The main steps of `leader_epoch_truncation.txt`, on real processes with a real client.

The transcript itself runs in virtual time. A follower stands still: the ISR shrinks, and produces
with acks=all are answered. The leader is killed with kill -9: the first replica in the order of the
assignment that is alive and in the ISR becomes the leader. The old leader starts again: it asks by
leader epoch where to cut its log, catches up, and is in the ISR again. No acked record is lost.
"""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from kafka_edu.clients.admin.new_topic import make_assigned_topic
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import LeaderElected
from kafka_edu.trace.events.replication import (
    IsrExpanded,
    IsrShrunk,
    LogTruncatedByEpoch,
    PartitionSnapshot,
)
from kafka_edu.trace.reader import merge, open_recording
from kafka_edu.trace.trace_client import TraceClient
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.cluster

TOPIC = "t"


class AckedProducer:
    """Sends one value after the other and remembers which were acked."""

    def __init__(self, cluster: Cluster) -> None:
        self.acked: dict[str, int] = {}
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "acks": "all",
                "linger.ms": 0,
                "message.timeout.ms": 60_000,
            }
        )

    def send(self, value: str) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            assert error is None, f"{value}: {error}"
            offset = message.offset()
            assert offset is not None
            self.acked[value] = offset

        self._producer.produce(TOPIC, value.encode(), on_delivery=delivered)
        self._producer.poll(0)

    def wait(self) -> None:
        assert self._producer.flush(PATIENCE_S) == 0, f"not acked in {PATIENCE_S} s"


def wait_for_isr(cluster: Cluster, leader: int, wanted: set[int], timeout_s: float = 60) -> None:
    """Wait until the broker `leader` reports the ISR `wanted`, in a snapshot or in an event."""
    with TraceClient(cluster.events_address(leader)) as events:

        def holds(envelope: Envelope) -> bool:
            match envelope.event:
                case (
                    PartitionSnapshot(topic=topic, isr=isr)
                    | IsrShrunk(topic=topic, after=isr)
                    | IsrExpanded(topic=topic, after=isr)
                ):
                    return topic == TOPIC and set(isr) == wanted
            return False

        events.wait_for(holds, timeout_s)


def consume_all(cluster: Cluster, wanted: int) -> list[tuple[int, str]]:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "none",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: list[tuple[int, str]] = []
    while len(found) < wanted:
        message = consumer.poll(PATIENCE_S)
        assert message is not None, f"only {found} within {PATIENCE_S} s"
        assert message.error() is None, message.error()
        offset, value = message.offset(), message.value()
        assert offset is not None
        assert isinstance(value, bytes)
        found.append((offset, value.decode()))
    consumer.close()
    return found


def test_pause_shrink_kill_elect_truncate_catch_up(tmp_path: Path, zookeeper: str) -> None:
    recordings = {broker: tmp_path / f"events-{broker}" for broker in range(3)}
    with running_cluster(
        "transcript",
        zookeeper=zookeeper,
        props={
            "replica.lag.time.max.ms": "2000",
            "auto.leader.rebalance.enable": "false",
            "inter.broker.protocol.version": "2.0",
        },
        broker_props={
            broker: {"edu.record.file": str(path)} for broker, path in recordings.items()
        },
    ) as cluster:
        make_assigned_topic(cluster.bootstrap_servers, TOPIC, {0: [0, 1, 2]})
        producer = AckedProducer(cluster)
        producer.send("a")
        producer.wait()

        cluster.pause(2)
        producer.send("b")
        wait_for_isr(cluster, 0, {0, 1})
        producer.wait()
        cluster.resume(2)
        wait_for_isr(cluster, 0, {0, 1, 2})

        cluster.kill(0)
        producer.send("c")
        producer.wait()
        wait_for_isr(cluster, 1, {1, 2})

        cluster.start(0)
        wait_for_isr(cluster, 1, {0, 1, 2})
        producer.send("d")
        producer.wait()
        assert consume_all(cluster, 4) == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]
        assert producer.acked == {"a": 0, "b": 1, "c": 2, "d": 3}
        cluster.stop(0)  # alone, so that its recording is complete, because the block's end kills

    history = list(merge(open_recording(str(path)) for path in recordings.values()))
    elected = [
        e.event for e in history if isinstance(e.event, LeaderElected) and e.event.topic == TOPIC
    ]
    assert [
        (e.old_leader, e.new_leader, e.unclean)
        for e in elected
        if e.new_leader == 1 and e.isr_before
    ], elected
    assert not any(e.unclean for e in elected)
    returned = [
        e.event
        for e in history
        if e.broker == 0 and isinstance(e.event, LogTruncatedByEpoch) and e.event.topic == TOPIC
    ]
    assert returned, "the old leader did not ask by leader epoch where to cut"
    assert returned[-1].leader == 1
    assert returned[-1].after <= returned[-1].leader_end_offset
