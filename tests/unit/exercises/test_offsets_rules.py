"""The rules of exercise 14-3 are those of the coordinator and of the cleaner."""

from random import Random

import pytest

from exercises.ch14_offsets.offsets_rules import (
    CONSUMER,
    GROUP,
    OFFSET,
    RETENTION_MS,
    STATES,
    Commit,
    Group,
    Key,
    RightTable,
    Row,
    expired,
    key_bytes,
    made_log,
    read,
)
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.coordinator.group.group_records import GroupKey, OffsetKey, read_key
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.coordinator.group.offset_and_metadata import CommittedOffset, OffsetAndMetadata

NOW_MS = 10**12
SEEDS = range(40)


def in_coordinator(group: Group, commits: list[Commit]) -> GroupMetadata:
    """Return the group as the coordinator has it."""
    made = GroupMetadata(group.name, GroupState(group.state), group.since_ms)
    made.protocol_type = group.protocol
    made.generation_id = group.generation
    if group.protocol == CONSUMER:
        made.subscribed_topics = frozenset(group.topics)
    for topic, partition, committed_ms, expires_ms in commits:
        value = OffsetAndMetadata(1, -1, "", committed_ms, expires_ms)
        made.offsets.committed[TopicPartition(topic, partition)] = CommittedOffset(value, None)
    return made


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_offsets_expire_as_in_the_coordinator(seed: int) -> None:
    random = Random(seed)
    times = (0, NOW_MS - RETENTION_MS - 1, NOW_MS - RETENTION_MS, NOW_MS - 5)
    for _ in range(50):
        group = Group(
            "readers",
            random.choice(STATES),
            random.choice(times),
            random.choice((CONSUMER, "connect", None)),
            tuple(random.sample(("web", "orders"), random.randrange(3))),
        )
        commits: list[Commit] = [
            (topic, n, random.choice(times), random.choice((None, NOW_MS, NOW_MS + 1)))
            for topic in ("web", "orders")
            for n in range(2)
        ]
        coordinator = in_coordinator(group, commits)
        theirs = coordinator.expired_offsets(NOW_MS, RETENTION_MS)
        ours = [
            TopicPartition(str(key[2]), int(str(key[3])))
            for key in expired(group, commits, NOW_MS, RETENTION_MS)
            if key[0] == OFFSET
        ]
        assert ours == theirs


def test_keys_are_those_of_the_coordinator() -> None:
    group: Key = (GROUP, "readers")
    offset: Key = (OFFSET, "readers", "web", 2)
    assert read_key(key_bytes(group)) == GroupKey("readers")
    assert read_key(key_bytes(offset)) == OffsetKey(("readers", TopicPartition("web", 2)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("young", [True, False])
def test_a_coordinator_reads_the_same_table_after_the_pass(seed: int, young: bool) -> None:
    log: list[Row] = made_log(Random(seed), 200, 4)
    right = RightTable()
    right.note(log)
    kept = {*right.keep(log, log[-1][0] + 1, young)}
    left = [row for row in log if row[0] in kept]
    assert read(left) == read(log)
    assert len(left) < len(log) // 2
    assert any(not has_value for _, _, has_value in left) is young
