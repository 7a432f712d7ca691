"""Which replica a consumer is sent to."""

import pytest

from kafka_edu.replication.replica_selector import (
    SELECTORS,
    ClientMetadata,
    KnownSelector,
    LeaderSelector,
    RackAwareReplicaSelector,
    ReplicaView,
    make_selector,
)
from kafka_edu.server.config.kafka_config import ConfigFileError, Setting, make_config

LEADER = ReplicaView(0, "a", 10, 0)
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def client(rack: str) -> ClientMetadata:
    return ClientMetadata(rack, "reader", "PLAINTEXT")


@pytest.mark.parametrize(
    ("rack", "followers", "chosen"),
    [
        ("", [ReplicaView(1, "b", 10, 0)], 0),
        ("", [ReplicaView(1, "", 10, 0)], 0),
        ("nowhere", [ReplicaView(1, "b", 10, 0)], 0),
        ("b", [], 0),
        ("b", [ReplicaView(1, "b", 5, 0)], 1),
        ("b", [ReplicaView(1, None, 10, 0)], 0),
        ("a", [ReplicaView(1, "a", 10, 0)], 0),  # the leader is in that rack
        ("b", [ReplicaView(1, "b", 9, 0), ReplicaView(2, "b", 10, 900)], 2),  # has more
        ("b", [ReplicaView(2, "b", 9, 500), ReplicaView(1, "b", 9, 20)], 1),  # caught up later
        ("b", [ReplicaView(2, "b", 9, 20), ReplicaView(1, "b", 9, 20)], 2),  # the higher id
    ],
)
def test_by_rack(rack: str, followers: list[ReplicaView], chosen: int) -> None:
    found = RackAwareReplicaSelector().select(client(rack), followers, LEADER)
    assert found.broker_id == chosen


def test_the_leader_whatever_the_rack() -> None:
    near = [ReplicaView(1, "b", 10, 0)]
    assert LeaderSelector().select(client("b"), near, LEADER) is LEADER


def test_the_setting_names_a_class_of_kafka() -> None:
    assert make_selector(None) is None
    assert isinstance(make_selector(RACK_AWARE), RackAwareReplicaSelector)
    assert [KnownSelector().refusal(name) for name in SELECTORS] == ["", ""]


@pytest.mark.parametrize("name", ["com.acme.NearestSelector", "", "RackAwareReplicaSelector"])
def test_any_other_class_stops_the_start(name: str) -> None:
    settings = {"zookeeper.connect": "h:1", "replica.selector.class": name}
    with pytest.raises(ConfigFileError) as refused:
        make_config({key: Setting(value, "line 7") for key, value in settings.items()})
    assert str(refused.value).startswith(
        f"line 7: Invalid value {name} for configuration replica.selector.class: this broker cannot"
        f" load Java classes, and has only"
    )
    assert RACK_AWARE in str(refused.value)
