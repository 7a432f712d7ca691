"""The right answers of exercise 14-3, and a log of `__consumer_offsets` that groups write.

The keys have the coordinator's format, and the broker's own offset map and filter decide what
compaction keeps. Offsets expire by KIP-211: tests/unit/exercises compares this with the
coordinator.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_records import group_key, offset_key
from kafka_edu.log.cleaner.batch_filter import fate_of
from kafka_edu.log.cleaner.offset_map import SLOT_BYTES, OffsetMap
from kafka_edu.log.cleaner.record_rows import RecordRows, rows_of_records
from kafka_edu.record.record import Record

OFFSET, GROUP = "offset", "group"
EMPTY, STABLE = "Empty", "Stable"
STATES: Final = (EMPTY, STABLE, "PreparingRebalance", "CompletingRebalance")
CONSUMER: Final = "consumer"
RETENTION_MS: Final = 7 * 24 * 3_600_000
_SLOTS: Final = 20_000

Key = tuple[str, str] | tuple[str, str, str, int]
"""("group", name), or ("offset", name, topic, partition)."""
Row = tuple[int, Key, bool]
"""A record: (offset, key, whether it has a value). Without a value it is a tombstone."""
Commit = tuple[str, int, int, int | None]
"""(topic, partition, time of the commit, expiry time that the client has set or None)."""


class Group(NamedTuple):
    """A group, as the coordinator stores it."""

    name: str
    state: str
    since_ms: int
    """The time at which the group came into its state."""
    protocol: str | None
    """"consumer"; a different type, such as that of Kafka Connect; or None: it never had a member.
    """
    topics: tuple[str, ...] = ()
    """The topics that its members read."""
    generation: int = 1

    def row(self) -> dict[str, Any]:
        """Return the group as the learner's code gets it."""
        return {**self._asdict(), "topics": list(self.topics)}


def key_bytes(key: Key) -> bytes:
    """Return a key as the coordinator writes it."""
    match key:
        case (_, name, topic, partition):
            return offset_key(name, TopicPartition(topic, partition))
        case (_, name):
            return group_key(name)
    raise ValueError(f"there is no key {key}")


def _rows(records: Sequence[Row]) -> RecordRows:
    return rows_of_records(
        [
            Record(offset, 0, key_bytes(key), b"v" if has_value else None)
            for offset, key, has_value in records
        ]
    )


class RightTable:
    """The right answers."""

    def __init__(self) -> None:
        self._map = OffsetMap(_SLOTS * SLOT_BYTES)

    def note(self, records: Sequence[Row]) -> None:
        """Store the last offset of each key in the dirty part."""
        rows = _rows(records)
        assert self._map.put(rows.digests, rows.offset, _SLOTS // 2) == len(records)

    def keep(self, records: Sequence[Row], end: int, young: bool) -> list[int]:
        """Return the offsets of the records that stay."""
        rows = _rows(records)
        self._map.latest_offset = end - 1
        stays = fate_of(rows, self._map, keeps_tombstones=young).stays
        return [int(offset) for offset in rows.offset[stays].tolist()]


def expired(group: Group, commits: Sequence[Commit], now_ms: int, retention_ms: int) -> list[Key]:
    """Return the keys for which the coordinator writes a tombstone now."""
    gone = [one for one in commits if is_over(group, one, now_ms, retention_ms)]
    keys: list[Key] = [(OFFSET, group.name, topic, partition) for topic, partition, _, _ in gone]
    dies = group.state == EMPTY and len(gone) == len(commits)
    return [*keys, (GROUP, group.name)] if dies and group.generation > 0 else keys


def is_over(group: Group, commit: Commit, now_ms: int, retention_ms: int) -> bool:
    """Return whether an offset has expired."""
    topic, _, committed_ms, expires_ms = commit
    simple = group.protocol is None
    empty = group.state == EMPTY
    stable = group.state == STABLE and group.protocol == CONSUMER and topic not in group.topics
    if not (simple or empty or stable):
        return False
    if expires_ms is not None:
        return now_ms >= expires_ms
    begin_ms = group.since_ms if empty and not simple else committed_ms
    return now_ms - begin_ms >= retention_ms


def read(records: Sequence[Row]) -> Mapping[Key, int]:
    """Return the table that a coordinator reads from a log: the offset of each key's record."""
    table: dict[Key, int] = {}
    for offset, key, has_value in records:
        if has_value:
            table[key] = offset
        else:
            table.pop(key, None)
    return table


def made_log(random: Random, count: int, groups: int) -> list[Row]:
    """Return a log in which groups commit, change their state, and expire. Some offsets are
    missing, because of compaction.
    """
    offset, rows = random.randint(0, 500), list[Row]()
    for _ in range(count):
        name = f"group-{random.randrange(groups)}"
        key: Key = (GROUP, name)
        if random.random() < 0.8:
            key = (OFFSET, name, random.choice(("web", "orders")), random.randrange(3))
        rows.append((offset, key, random.random() < 0.85))
        offset += 1 if random.random() < 0.9 else random.randint(2, 6)
    return rows
