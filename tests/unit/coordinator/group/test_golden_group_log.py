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
from kafka_edu.coordinator.group.offset_and_metadata import offset_of
from kafka_edu.record.record_batch import build_batch, iter_headers, read_records

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
