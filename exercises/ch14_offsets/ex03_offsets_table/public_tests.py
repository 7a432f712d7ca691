"""Public tests of exercise 14-3. `kafka-edu lab check 14-3` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..offsets_rules import (
    CONSUMER,
    EMPTY,
    GROUP,
    OFFSET,
    RETENTION_MS,
    STABLE,
    STATES,
    Commit,
    Group,
    Key,
    RightTable,
    Row,
    expired,
    made_log,
    read,
)

NOW_MS: Final = 1_700_000_000_000
LONG_AGO_MS: Final = NOW_MS - RETENTION_MS
LATELY_MS: Final = LONG_AGO_MS + 1
WEB: Final[Key] = (OFFSET, "readers", "web", 0)
WEB_1: Final[Key] = (OFFSET, "readers", "web", 1)
READERS: Final[Key] = (GROUP, "readers")
CONNECT: Final = "connect"
Make = Callable[[], "Compared"]


class Compared:
    """An object of the learner's class. Each of its answers is compared with the right one."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()
        self._right = RightTable()
        self._noted: list[Row] = []

    def note(self, records: Sequence[Row]) -> None:
        """Call `note` with records of the dirty part."""
        self._right.note(records)
        self._noted += records
        self._made.call("note", list(records))

    def keep(self, records: Sequence[Row], end: int, young: bool = True) -> list[int]:
        """Compare which records stay. Raises Mismatch."""
        expected = self._right.keep(records, end, young)
        came = self._made.call("keep", list(records), end, young)
        if came != tuple(expected):
            drawing = (
                *(f"noted {row}" for row in self._noted[-6:]),
                *(f"row   {row}" for row in records[-8:]),
            )
            why = self._why_keep(records, end, expected, came)
            call = f"keep(records, {end}, {young})"
            raise Mismatch(call, expected, _listed(came), why, drawing=drawing, read="keep")
        return expected

    def _why_keep(self, records: Sequence[Row], end: int, expected: list[int], came: object) -> str:
        if not isinstance(came, tuple):
            return "the answer is a list of offsets"
        for offset, key, has_value in records:
            if (offset in expected) == (offset in came):
                continue
            later = [at for at, other, _ in self._noted if other == key and at > offset]
            if offset >= end:
                return f"record {offset} is behind the pass, which ends at {end}: it stays"
            if later:
                return f"{key} has a later record, {later[-1]}: record {offset} is outdated"
            if has_value:
                return f"record {offset} is the last one of {key}: without it the value is lost"
            if offset in expected:
                return f"tombstone {offset} is young: a reader may have an older value still"
            return f"tombstone {offset} is old: readers know already that {key} is deleted"
        return "each record that stays is there once, in the order of the offsets"

    def expired(
        self,
        group: Group,
        commits: Sequence[Commit],
        now_ms: int = NOW_MS,
        retention_ms: int = RETENTION_MS,
    ) -> list[Key]:
        """Compare which tombstones are written. Raises Mismatch."""
        right = expired(group, commits, now_ms, retention_ms)
        came = self._made.call("expired", group.row(), list(commits), now_ms, retention_ms)
        if came != tuple(right):
            drawing = (str(group), *map(str, commits[:8]))
            why = self._why_expired(group, commits, right, came)
            call = f"expired(group, commits, {now_ms}, {retention_ms})"
            raise Mismatch(call, right, _listed(came), why, drawing=drawing, read="expired")
        return right

    @staticmethod
    def _why_expired(
        group: Group, commits: Sequence[Commit], right: list[Key], came: object
    ) -> str:
        if not isinstance(came, tuple):
            return "the answer is a list of keys"
        for topic, partition, _, expires_ms in commits:
            key = (OFFSET, group.name, topic, partition)
            if (key in right) == (key in came):
                continue
            if expires_ms is not None and key in right:
                return (
                    f"{topic}-{partition}: its own time is over, and the retention does not count"
                )
            if expires_ms is not None and (group.protocol is None or group.state == EMPTY):
                return f"{topic}-{partition}: its own time is not over"
            if group.protocol is None:
                return f"{topic}-{partition}: without members, the time of the commit counts"
            if group.state == EMPTY:
                return f"{topic}-{partition}: the time since the group is empty counts"
            if group.state != STABLE:
                return f"{topic}-{partition}: in state {group.state} nothing expires"
            if group.protocol != CONSUMER:
                return f"{topic}-{partition}: the topics of {group.protocol} members are not known"
            if topic in group.topics:
                return f"{topic}-{partition}: a member reads {topic}"
            return f"{topic}-{partition}: no member reads {topic}, so the time of the commit counts"
        if ((GROUP, group.name) in right) and (GROUP, group.name) not in came:
            return "an empty group without offsets is dead: its own record gets a tombstone too"
        if (GROUP, group.name) in came and (GROUP, group.name) not in right:
            return "the group continues, or it has never had its own record"
        return "one tombstone for each key: the offsets in the order of the commits, then the group"


def _listed(came: object) -> object:
    return list(came) if isinstance(came, tuple) else came


@pytest.fixture
def make(learner: Learner) -> Make:
    """Return a function that makes an object of the learner's class."""
    return lambda: Compared(learner)


def test_example(make: Make) -> None:
    """the example of README.md"""
    made = make()
    log: list[Row] = [
        (5, READERS, True),
        (6, WEB, True),
        (7, WEB_1, True),
        (9, WEB, True),
        (10, WEB_1, False),
        (11, WEB, True),
    ]
    made.note(log[:5])
    assert made.keep(log, 11, True) == [5, 9, 10, 11]
    assert made.keep(log, 11, False) == [5, 9, 11]
    group = Group("readers", EMPTY, LONG_AGO_MS, CONSUMER)
    commits: list[Commit] = [("web", 0, NOW_MS - 5, None), ("web", 1, 0, NOW_MS + 1)]
    assert made.expired(group, commits) == [WEB]
    assert made.expired(group, commits[:1]) == [WEB, READERS]


def test_the_last_of_each_key(make: Make) -> None:
    """groups, topics and partitions that differ in one thing only"""
    made = make()
    keys: list[Key] = [
        (OFFSET, name, topic, partition)
        for name in ("a", "b")
        for topic in ("web", "orders")
        for partition in (0, 1)
    ]
    log: list[Row] = [(n, key, True) for n, key in enumerate(keys * 2)]
    made.note(log)
    assert made.keep(log, 16) == list(range(8, 16))


def test_a_group_and_its_offsets(make: Make) -> None:
    """the record of a group and its offsets have different keys"""
    made = make()
    log: list[Row] = [(0, READERS, True), (1, WEB, True), (2, READERS, False), (3, WEB, True)]
    made.note(log)
    made.keep(log, 4, True)
    made.keep(log, 4, False)


def test_tombstones(make: Make) -> None:
    """tombstones that are young, old, followed by a value, or after the end of the pass"""
    for young in (True, False):
        made = make()
        log: list[Row] = [
            (0, WEB, True),
            (1, WEB, False),
            (2, WEB_1, False),
            (3, WEB_1, True),
            (4, READERS, False),
            (5, READERS, False),
        ]
        made.note(log[:5])
        made.keep(log, 5, young)


def test_the_clean_part(make: Make) -> None:
    """records that an earlier pass kept, with and without a newer record in the dirty part"""
    made = make()
    clean: list[Row] = [(10, WEB, True), (20, WEB_1, True), (30, READERS, False)]
    made.note([(41, WEB, True), (42, READERS, True)])
    assert made.keep(clean, 43) == [20]
    made = make()
    made.note([])
    first: Row = (0, (GROUP, "others"), True)
    assert made.keep([first, *clean], 43, False) == [0, 10, 20]


def test_in_parts(make: Make) -> None:
    """the dirty part and the log come in several parts"""
    made = make()
    log: list[Row] = [(n, (WEB, WEB_1, READERS)[n % 3], True) for n in range(30)]
    for begin in range(0, 30, 7):
        made.note(log[begin : begin + 7])
    for begin in range(0, 30, 11):
        made.keep(log[begin : begin + 11], 30)


def test_empty_groups(make: Make) -> None:
    """an empty group keeps its offsets for the retention, counted since its last member left"""
    made = make()
    commits: list[Commit] = [("web", 0, 0, None), ("web", 1, NOW_MS, None)]
    for since_ms in (LONG_AGO_MS - 1, LONG_AGO_MS, LATELY_MS, NOW_MS):
        for protocol in (CONSUMER, CONNECT):
            made.expired(Group("readers", EMPTY, since_ms, protocol, ("web",)), commits)


def test_stable_groups(make: Make) -> None:
    """a group with members loses old offsets of topics that nobody reads"""
    made = make()
    commits: list[Commit] = [
        (topic, n, at_ms, None)
        for topic in ("web", "orders")
        for n, at_ms in enumerate((LONG_AGO_MS - 1, LONG_AGO_MS, LATELY_MS))
    ]
    for topics in (("web",), ("web", "orders"), ()):
        for protocol in (CONSUMER, CONNECT):
            made.expired(Group("readers", STABLE, 0, protocol, topics), commits)


def test_rebalances(make: Make) -> None:
    """in a rebalance nothing expires"""
    made = make()
    for state in STATES[2:]:
        group = Group("readers", state, 0, CONSUMER)
        made.expired(group, [("web", 0, 0, None), ("web", 1, 0, 5)])


def test_without_members(make: Make) -> None:
    """a program that commits without a group protocol"""
    made = make()
    commits: list[Commit] = [("web", 0, LONG_AGO_MS, None), ("web", 1, LATELY_MS, None)]
    for generation in (0, 3):
        group = Group("readers", EMPTY, NOW_MS, None, generation=generation)
        made.expired(group, commits)
        made.expired(group, commits[:1])
        made.expired(group._replace(since_ms=0), commits)


def test_its_own_time(make: Make) -> None:
    """an old client has set the time at which its offset expires"""
    made = make()
    commits: list[Commit] = [
        ("web", n, 0, expires_ms) for n, expires_ms in enumerate((NOW_MS - 1, NOW_MS, NOW_MS + 1))
    ]
    for group in (
        Group("readers", EMPTY, NOW_MS, CONSUMER),
        Group("readers", EMPTY, 0, None),
        Group("readers", STABLE, 0, CONSUMER),
        Group("readers", STABLE, 0, CONSUMER, ("web",)),
    ):
        made.expired(group, commits)


def test_the_group_itself(make: Make) -> None:
    """an empty group without offsets, one with offsets, and one that never had a generation"""
    made = make()
    for generation in (0, 1):
        for state in STATES:
            group = Group("readers", state, LONG_AGO_MS, CONSUMER, generation=generation)
            made.expired(group, [])
            made.expired(group, [("web", 0, LONG_AGO_MS, None)])
            made.expired(group._replace(since_ms=NOW_MS), [("web", 0, NOW_MS, None)])


def test_any_log(make: Make, seed: int) -> None:
    """random logs: a coordinator reads the same table before and after the cleaner's pass"""
    random = Random(f"logs/{seed}")
    for _ in range(8):
        made = make()
        log = made_log(random, 80, random.randint(1, 4))
        first, behind = log[random.randrange(40)][0], random.choice((log[60][0], log[-1][0] + 1))
        made.note([row for row in log if first <= row[0] < behind])
        kept = made.keep(log, behind, random.random() < 0.5)
        dirty = [row for row in log if row[0] >= first]
        if first == log[0][0]:
            assert read([row for row in dirty if row[0] in kept]) == read(dirty)


def test_any_group(make: Make, seed: int) -> None:
    """random groups and offsets"""
    random = Random(f"groups/{seed}")
    made = make()
    for _ in range(60):
        times = (LONG_AGO_MS - 5, LONG_AGO_MS, LATELY_MS, NOW_MS)
        group = Group(
            f"group-{random.randrange(3)}",
            random.choice(STATES),
            random.choice(times),
            random.choice((CONSUMER, CONSUMER, CONNECT, None)),
            tuple(random.sample(("web", "orders", "logs"), random.randrange(3))),
            random.randrange(2),
        )
        made.expired(
            group,
            [
                (topic, n, random.choice(times), random.choice((None, None, NOW_MS, NOW_MS + 1)))
                for topic in ("web", "orders")
                for n in range(random.randrange(3))
            ],
        )
