"""Kafka's JSON, byte for byte, compared with what Apache Kafka 2.0.1 and 2.8.2 wrote
(tests/golden/zk).
"""

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.zk import zk_data
from kafka_edu.zk.zk_data import (
    BrokerIdZNode,
    ClusterIdZNode,
    ConfigEntityChangeNotificationZNode,
    ConfigEntityZNode,
    ControllerEpochZNode,
    ControllerZNode,
    IsrChangeNotificationZNode,
    LogDirEventNotificationZNode,
    PreferredReplicaElectionZNode,
    ProducerIdBlock,
    ProducerIdBlockZNode,
    ReassignPartitionsZNode,
    TopicAssignment,
    TopicPartitionStateZNode,
    TopicZNode,
    decode_object,
    encode_uuid,
    random_uuid,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "zk"
LEVELS = {"2.0.1": (2, 0), "2.8.2": (2, 8)}


def writes(version: str) -> Iterator[tuple[str, bytes]]:
    """Yield (path, data) of every write that has data."""
    recording = json.loads((GOLDEN / f"apache-kafka-{version}.json").read_text())
    for step in recording["steps"].values():
        for write in step:
            if write.get("data") is not None:
                yield write["path"], write["data"].encode()


def again(path: str, data: bytes, level: tuple[int, int]) -> bytes | None:
    """Decode the data by the znode at `path`, and encode it again. Return None for a path that is
    not ours.
    """
    timestamp = int(str(decode_object(data).get("timestamp", 0)))
    parent, _, name = path.rpartition("/")
    if path == ControllerZNode.PATH:
        broker_id = ControllerZNode.decode(data)
        return ControllerZNode.encode(broker_id, timestamp) if broker_id is not None else None
    if path == ControllerEpochZNode.PATH:
        epoch = ControllerEpochZNode.decode(data)
        return ControllerEpochZNode.encode(epoch) if epoch is not None else None
    if path == ClusterIdZNode.PATH:
        return ClusterIdZNode.encode(ClusterIdZNode.decode(data) or "")
    if path == ProducerIdBlockZNode.PATH:
        block = ProducerIdBlockZNode.decode(data)
        return ProducerIdBlockZNode.encode(block) if block else None
    if path == PreferredReplicaElectionZNode.PATH:
        return PreferredReplicaElectionZNode.encode(PreferredReplicaElectionZNode.decode(data))
    if path == ReassignPartitionsZNode.PATH:
        return ReassignPartitionsZNode.encode(ReassignPartitionsZNode.decode(data))
    if parent == BrokerIdZNode.PARENT:
        broker = BrokerIdZNode.decode(int(name), data, 1)
        return BrokerIdZNode.encode(broker, timestamp, level) if broker else None
    if parent == TopicZNode.PARENT:
        return TopicZNode.encode(TopicZNode.decode(data), level)
    if name == "state":
        state = TopicPartitionStateZNode.decode(data, 0)
        return TopicPartitionStateZNode.encode(state) if state else None
    if parent == IsrChangeNotificationZNode.PARENT:
        return IsrChangeNotificationZNode.encode(IsrChangeNotificationZNode.decode(data))
    if parent == LogDirEventNotificationZNode.PARENT:
        return LogDirEventNotificationZNode.encode(LogDirEventNotificationZNode.decode(data) or 0)
    if parent == ConfigEntityChangeNotificationZNode.PARENT:
        return ConfigEntityChangeNotificationZNode.encode(
            ConfigEntityChangeNotificationZNode.decode(data) or ""
        )
    if path.startswith("/config/"):
        return ConfigEntityZNode.encode(ConfigEntityZNode.decode(data))
    return None


def by_number(data: bytes) -> bytes:
    """Return a topic's JSON with its partitions sorted by number, because Kafka writes them in the
    order of a Scala hash map.
    """
    fields = json.loads(data)
    fields["partitions"] = dict(sorted(fields["partitions"].items(), key=lambda item: int(item[0])))
    return zk_data.encode_json(fields)


@pytest.mark.parametrize("version", LEVELS)
def test_every_znode_that_kafka_wrote_is_written_the_same(version: str) -> None:
    kinds = set()
    for path, data in writes(version):
        if path == "/feature":
            continue  # KIP-584's own znode: there are no finalized features to keep
        expected = (
            by_number(data)
            if path.count("/") == 3 and path.startswith("/brokers/topics/")
            else data
        )
        assert again(path, data, LEVELS[version]) == expected, path
        kinds.add(re.sub(r"\d+|golden-.", "", path))
    assert len(kinds) >= 15


@pytest.mark.parametrize("version", LEVELS)
def test_kafka_made_the_same_persistent_paths(version: str) -> None:
    recording = json.loads((GOLDEN / f"apache-kafka-{version}.json").read_text())
    empty = {
        w["path"] for w in recording["steps"]["start"] if w["op"] == "create" and w["data"] is None
    }
    parents = {"/brokers", "/config", "/admin", "/cluster"}
    ours = {
        path for path, data in zk_data.persistent_znodes(LEVELS[version]).items() if data is None
    } | parents
    assert {path for path in empty if not path.startswith("/brokers/ids/")} == ours


def test_brokers_of_all_versions() -> None:
    v1 = BrokerIdZNode.decode(
        1, b'{"version":1,"host":"localhost","port":9092,"jmx_port":9999,"timestamp":"1"}', 7
    )
    assert v1 == Broker(1, (EndPoint("localhost", 9092, "PLAINTEXT", "PLAINTEXT"),), None, 7)
    v3 = b'{"version":3,"host":null,"port":-1,"jmx_port":-1,"timestamp":"1","endpoints":["SSL://[::1]:9093","PLAINTEXT://:9094"],"rack":"r"}'
    assert BrokerIdZNode.decode(1, v3, 7) == Broker(
        1,
        (EndPoint("::1", 9093, "SSL", "SSL"), EndPoint("", 9094, "PLAINTEXT", "PLAINTEXT")),
        "r",
        7,
    )
    named = Broker(1, (EndPoint("h", 1, "IN", "SSL"), EndPoint("i", 2, "OUT", "PLAINTEXT")))
    encoded = BrokerIdZNode.encode(named, 5, (2, 8))
    assert BrokerIdZNode.decode(1, encoded, -1) == named
    assert decode_object(encoded)["host"] == "i"
    assert "rack" not in decode_object(encoded)
    assert (
        decode_object(
            BrokerIdZNode.encode(Broker(1, (EndPoint("h", 1, "SSL", "SSL"),)), 5, (2, 0))
        )["port"]
        == -1
    )


def test_the_books_controller_znode() -> None:
    assert (
        ControllerZNode.encode(0, 1529210278988)
        == b'{"version":1,"brokerid":0,"timestamp":"1529210278988"}'
    )


def test_a_topic_that_is_being_reassigned_and_one_without_an_id() -> None:
    data = b'{"partitions":{"0":[2,0,1]},"adding_replicas":{"0":[1]},"removing_replicas":{"0":[2]},"version":3}'  # noqa: E501
    topic = TopicZNode.decode(data)
    assert topic.partitions[0].adding_replicas == (1,)
    assert topic.partitions[0].target_replicas == (0, 1)
    assert TopicZNode.encode(topic, (2, 8)) == data


def test_ids_are_kafkas_22_characters() -> None:
    ids = {encode_uuid(random_uuid(Random(seed))) for seed in range(500)}
    assert len(ids) == 500
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", text) for text in ids)
    value = uuid.UUID(int=0xFEDCBA9876543210FEDCBA9876543210)
    assert zk_data.decode_uuid(encode_uuid(value)) == value
    assert zk_data.decode_uuid("short") is None


def test_a_notification_names_each_partition_once_in_order() -> None:
    data = IsrChangeNotificationZNode.encode(
        [TopicPartition("b", 10), TopicPartition("b", 9), TopicPartition("a", 1)]
    )
    assert (
        data
        == b'{"version":1,"partitions":[{"topic":"a","partition":1},{"topic":"b","partition":9},{"topic":"b","partition":10}]}'  # noqa: E501
    )
    assert IsrChangeNotificationZNode.decode(data) == [
        TopicPartition("a", 1),
        TopicPartition("b", 9),
        TopicPartition("b", 10),
    ]


def test_old_config_change_notifications() -> None:
    old = b'{"version":1,"entity_type":"topics","entity_name":"web"}'
    assert ConfigEntityChangeNotificationZNode.decode(old) == "topics/web"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
MEMBERS = [
    "version",
    "brokerid",
    "partitions",
    "topic",
    "partition",
    "replicas",
    "endpoints",
    "host",
    "port",
    "rack",
    "config",
    "id",
    "isr",
    "leader",
]


@settings(deadline=None, max_examples=40)
@given(
    st.binary()
    | st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=6).map(zk_data.encode_json)
)
def test_whatever_is_in_a_znode_nothing_is_raised(data: bytes) -> None:
    for decode in (
        ControllerZNode.decode,
        ControllerEpochZNode.decode,
        ClusterIdZNode.decode,
        ProducerIdBlockZNode.decode,
        TopicZNode.decode,
        IsrChangeNotificationZNode.decode,
        LogDirEventNotificationZNode.decode,
        ConfigEntityZNode.decode,
        ConfigEntityChangeNotificationZNode.decode,
        ReassignPartitionsZNode.decode,
    ):
        decode(data)
    BrokerIdZNode.decode(1, data, 1)
    TopicPartitionStateZNode.decode(data, 1)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(-2, 9),
    st.integers(0, 1 << 31),
    st.lists(st.integers(0, 9)),
    st.integers(0, 1 << 31),
)
def test_states_go_round(leader: int, epoch: int, isr: list[int], controller_epoch: int) -> None:
    state = LeaderIsrAndControllerEpoch(
        LeaderAndIsr(leader, epoch, tuple(isr), 5), controller_epoch
    )
    assert TopicPartitionStateZNode.decode(TopicPartitionStateZNode.encode(state), 5) == state


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.integers(0, 200), st.lists(st.integers(0, 9)), max_size=9), st.booleans())
def test_topics_go_round(replicas: dict[int, list[int]], with_id: bool) -> None:
    topic = TopicAssignment.of(replicas, uuid.UUID(int=7) if with_id else None)
    assert TopicZNode.decode(TopicZNode.encode(topic, (2, 8))) == topic
    assert TopicZNode.decode(TopicZNode.encode(topic, (2, 0))).partitions == topic.partitions


def test_deep_and_huge_json_is_no_json() -> None:
    assert decode_object(b"[" * 100_000) == {}
    assert decode_object(b'{"a":' + b"9" * 10_000 + b"}") == {}
    assert (
        ProducerIdBlockZNode.decode(
            b'{"version":1,"broker":1,"block_start":"%s","block_end":"1"}' % (b"9" * 30)
        )
        is None
    )
    assert ProducerIdBlockZNode.decode(
        ProducerIdBlockZNode.encode(ProducerIdBlock(1, 0, 999))
    ) == ProducerIdBlock(1, 0, 999)
