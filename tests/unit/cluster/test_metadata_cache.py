from uuid import UUID

import pytest

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_edu.trace.event import Source
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer

WEB_0 = TopicPartition("web", 0)


def state(partition, leader, replicas, topic="", isr=None):
    return UpdateMetadataPartitionState(
        topic_name=topic,
        partition_index=partition,
        controller_epoch=4,
        leader=leader,
        leader_epoch=9,
        isr=isr or replicas,
        zk_version=2,
        replicas=replicas,
    )


def broker(broker_id, *listeners):
    end_points = [
        UpdateMetadataEndpoint(port=port, host="h", listener=name, security_protocol=0)
        for name, port in listeners
    ]
    return UpdateMetadataBroker(id=broker_id, endpoints=end_points)


NO_ID = UUID(int=0)


def update(brokers, states, topic_id=NO_ID, version=7):
    request = UpdateMetadataRequest(controller_id=1, controller_epoch=4, live_brokers=brokers)
    if version >= 5:
        request.topic_states = [
            UpdateMetadataTopicState(topic_name="web", topic_id=topic_id, partition_states=states)
        ]
    else:
        request.ungrouped_partition_states = states
    return UpdateMetadataRequest.decode(request.encode(version), version)


@pytest.mark.parametrize("version", range(8))
def test_every_version_is_understood(version):
    cache = MetadataCache(1)
    live = broker(1, ("PLAINTEXT", 9092))
    live.v0_host, live.v0_port = "h", 9092
    assert cache.update(update([live], [state(0, 1, [1, 2], "web")], version=version)) == []
    assert cache.controller_id == 1
    assert cache.topics == ["web"]
    assert cache.get_alive_end_point(1, "PLAINTEXT") == EndPoint(
        "h", 9092, "PLAINTEXT", "PLAINTEXT"
    )
    assert cache.get_leader_end_point(WEB_0, "PLAINTEXT") == EndPoint(
        "h", 9092, "PLAINTEXT", "PLAINTEXT"
    )
    found = cache.get_partition_state(WEB_0)
    assert (found.leader, found.leader_epoch, found.isr, found.replicas) == (1, 9, (1, 2), (1, 2))


def test_brokers_are_replaced_and_partitions_merged():
    cache = MetadataCache(1)
    cache.update(
        update([broker(2, ("PLAINTEXT", 1)), broker(1, ("PLAINTEXT", 2))], [state(0, 1, [1, 2])])
    )
    cache.update(update([broker(2, ("PLAINTEXT", 1))], [state(1, 2, [2, 1])]))
    assert [b.id for b in cache.get_alive_brokers()] == [2]
    assert not cache.is_alive(1)
    assert sorted(cache.partitions_of("web")) == [0, 1]
    assert cache.contains(WEB_0)
    assert not cache.contains(TopicPartition("web", 2))
    assert not cache.contains_topic("app")


def test_deleted_partitions_leave_and_with_the_last_the_topic():
    cache = MetadataCache(1)
    topic_id = UUID(int=5)
    cache.update(update([], [state(0, 1, [1]), state(1, 1, [1])], topic_id))
    assert cache.topic_id("web") == topic_id
    assert cache.update(update([], [state(0, -2, [1])])) == [WEB_0]
    assert cache.topics == ["web"]
    assert cache.update(update([], [state(1, -2, [1]), state(7, -2, [1])])) == [
        TopicPartition("web", 1),
        TopicPartition("web", 7),
    ]
    assert cache.topics == []
    assert cache.topic_id("web") == UUID(int=0)


def errors(cache, listener, version):
    return [
        (p.error_code, p.leader_id, p.replica_nodes, p.isr_nodes)
        for p in cache.get_topic_metadata("web", listener, version)
    ]


def test_error_codes_by_version():
    cache = MetadataCache(1)
    live = [broker(1, ("PLAINTEXT", 1), ("OTHER", 2)), broker(2, ("PLAINTEXT", 3))]
    cache.update(
        update(live, [state(0, 2, [2, 1]), state(1, 3, [3, 1]), state(2, 1, [1, 3], isr=[1])])
    )
    none, no_leader, no_listener = (
        Errors.NONE,
        Errors.LEADER_NOT_AVAILABLE,
        Errors.LISTENER_NOT_FOUND,
    )
    assert errors(cache, "PLAINTEXT", 9) == [
        (none, 2, [2, 1], [2, 1]),
        (no_leader, -1, [3, 1], [3, 1]),
        (none, 1, [1, 3], [1]),
    ]
    assert errors(cache, "OTHER", 6)[0] == (no_listener, -1, [2, 1], [2, 1])
    assert errors(cache, "OTHER", 5)[0] == (no_leader, -1, [2, 1], [2, 1])
    # v0 clients do not see replicas that they cannot reach.
    assert errors(cache, "PLAINTEXT", 0)[1:] == [
        (no_leader, -1, [1], [1]),
        (Errors.REPLICA_NOT_AVAILABLE, 1, [1], [1]),
    ]
    assert errors(cache, "OTHER", 0)[0] == (no_leader, -1, [1], [1])


def test_updates_and_snapshots_are_told():
    tracer, ring = Tracer(Source.of_broker(1), MockTime()), RingSink()
    tracer.add_sink(ring)
    cache = MetadataCache(1, tracer)
    cache.update(update([broker(1, ("PLAINTEXT", 9092))], [state(0, 1, [1]), state(1, -2, [1])]))
    (event,) = [e.event for e in ring.events]
    assert event == (1, 4, (1,), ("web-0",), ("web-1",))
    names = [e.name for e in tracer.snapshot()]
    assert names == ["MetadataSnapshot", "PartitionMetadataSnapshot"]
