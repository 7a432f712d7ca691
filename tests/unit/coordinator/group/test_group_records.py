"""`__consumer_offsets` as Apache Kafka 2.0.1 and 2.8.2 wrote it (tests/golden/log).

We read its content correctly, and we write the same bytes.
"""

from pathlib import Path

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_loader import GroupLoader, LoadedGroup, make_group
from kafka_edu.coordinator.group.group_records import (
    GroupKey,
    OffsetKey,
    group_key,
    group_value,
    offset_key,
    offset_value,
    read_group_value,
    read_key,
    read_offset_value,
)
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata, offset_of
from kafka_edu.record.record_batch import build_batch, iter_headers, read_records
from tests.defaults import OFFSET_DEFAULTS
from tests.unit.coordinator.group.group_world import GROUP, World
from tests.unit.coordinator.group.test_group_metadata_manager import T0, T1

GOLDEN = Path(__file__).parents[3] / "golden" / "log"
VERSIONS = {"2.0.1": (2, 0), "2.8.2": (2, 8)}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_apache_kafka_wrote_is_read(version: str) -> None:
    data = memoryview((GOLDEN / f"groups-{version}.log").read_bytes())
    loader = GroupLoader()
    for position, header in iter_headers(data):
        loader.apply(header, data[position : position + header.size_in_bytes])
    groups = {loaded.group_id: loaded for loaded in loader.groups()}
    assert set(groups) == ({"g", "alone"} if version == "2.0.1" else {"g", "alone", "s"}), (
        "the deleted group is not there"
    )
    g = make_group(groups["g"], 0, None)
    (member,) = g.members.values()
    assert (g.state, g.generation_id, g.protocol_type, g.protocol_name) == (
        GroupState.STABLE,
        1,
        "consumer",
        "range",
    )
    assert (
        member.client_id,
        member.client_host,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
    ) == ("answers", "/127.0.0.1", 10_000, 5_000)
    assert (member.assignment, g.subscribed_topics) == (b"\0\0assigned", {"t", "u"})
    committed = {
        tp: (commit.value.offset, commit.value.metadata)
        for tp, commit in g.offsets.committed.items()
    }
    assert committed == {TopicPartition("t", 0): (7, "ünder"), TopicPartition("t", 1): (8, "")}
    kept = g.offsets.committed[TopicPartition("t", 1)].value
    assert kept.expire_timestamp == kept.commit_timestamp + 60_000
    alone: LoadedGroup = groups["alone"]
    assert {tp: commit.value.offset for tp, commit in alone.offsets.items()} == {
        TopicPartition("u", 0): 9,
        TopicPartition("u", 1): 105,
    }
    assert {
        producer: [c.value.offset for c in offsets.values()]
        for producer, offsets in alone.pending.items()
    } == {7: [107]}
    if version == "2.8.2":
        static = make_group(groups["s"], 0, None)
        assert static.static_member_id("the-instance") == static.leader_id


@pytest.mark.parametrize("version", VERSIONS)
def test_we_write_the_very_same_bytes(version: str) -> None:
    data = (GOLDEN / f"groups-{version}.log").read_bytes()
    seen = 0
    for position, header in iter_headers(data):
        batch = data[position : position + header.size_in_bytes]
        if header.is_control:
            continue
        records = read_records(batch)
        for record in records:
            key = read_key(record.key or b"")
            if isinstance(key, OffsetKey):
                assert offset_key(*key) == record.key
                if record.value is not None:
                    value = read_offset_value(record.value)
                    assert offset_value(offset_of(value), VERSIONS[version]) == record.value
            else:
                assert isinstance(key, GroupKey)
                assert group_key(key) == record.key
                if record.value is not None:
                    group = make_group(
                        LoadedGroup(key, read_group_value(record.value), {}, {}), 0, None
                    )
                    assignments = {
                        member_id: member.assignment for member_id, member in group.members.items()
                    }
                    assert group_value(group, assignments, VERSIONS[version]) == record.value
            seen += 1
        ours = build_batch(
            records,
            partition_leader_epoch=header.partition_leader_epoch,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            is_transactional=header.is_transactional,
        )
        assert ours == batch
    assert seen > 10


@pytest.mark.parametrize(
    ("protocol", "offset_version", "group_version"),
    [((2, 0), 1, 1), ((2, 1), 3, 2), ((2, 2), 3, 2), ((2, 3), 3, 3), ((2, 8), 3, 3)],
)
def test_records_are_written_as_the_oldest_broker_can_read_them(
    protocol: tuple[int, int], offset_version: int, group_version: int
) -> None:
    world = World(offsets=OFFSET_DEFAULTS._replace(inter_broker_protocol_version=protocol))
    world.stable("a")
    world.commit({T0: 7}, "a", generation=1)
    group, offset = world.log.records()
    assert (group.key, offset.key) == (group_key(GROUP), offset_key(GROUP, T0))
    assert (group.value or b"")[:2] == group_version.to_bytes(2, "big")
    assert (offset.value or b"")[:2] == offset_version.to_bytes(2, "big")


def test_the_bytes_are_kafkas() -> None:
    """The expected bytes were written by hand from the schemas.

    They are the version, then the fields; strings have an int16 length.
    """
    assert offset_key("g", T1) == bytes.fromhex("0001 0001 67 0001 74 00000001")
    value = OffsetAndMetadata(7, 2, "m", 1_000, None)
    assert offset_value(value, (2, 8)) == bytes.fromhex(
        "0003 0000000000000007 00000002 0001 6d 00000000000003e8"
    )
    assert offset_value(value, (2, 0)) == bytes.fromhex(
        "0001 0000000000000007 0001 6d 00000000000003e8 ffffffffffffffff"
    )
    assert group_key("g") == bytes.fromhex("0002 0001 67")
    world = World()
    world.stable("a")
    world.leave("a")
    empty = group_value(world.group, {}, (2, 0))
    assert empty == bytes.fromhex("0001 0008 636f6e73756d6572 00000002 ffff ffff 00000000")
