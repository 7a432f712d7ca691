"""Hidden tests of exercise 14-3: only `kafka-edu lab grade 14-3` runs them."""

from random import Random

from ..offsets_rules import EMPTY, OFFSET, Group, Key, Row, made_log
from .public_tests import Make
from .public_tests import make as make


def test_a_large_log(make: Make, seed: int) -> None:
    """thousands of records, whose offsets do not fit into 32 bits"""
    made = make()
    log = [
        (5_000_000_000 + offset, key, has_value)
        for offset, key, has_value in made_log(Random(f"large/{seed}"), 3_000, 40)
    ]
    for begin in range(0, len(log), 500):
        made.note(log[begin : begin + 500])
    for begin in range(0, len(log), 500):
        made.keep(log[begin : begin + 500], log[-1][0] + 1, begin % 1_000 == 0)


def test_two_partitions(make: Make) -> None:
    """two partitions of __consumer_offsets, which must not be mixed up"""
    key: Key = (OFFSET, "a", "web", 0)
    one, two = make(), make()
    log: list[Row] = [(3, key, True), (8, key, True)]
    one.note(log)
    assert two.keep(log, 9) == [3, 8]
    assert one.keep(log, 9) == [8]


def test_names_with_dashes(make: Make) -> None:
    """names that become equal when they are joined with dashes"""
    made = make()
    keys: list[Key] = [
        (OFFSET, "a", "b-c", 1),
        (OFFSET, "a-b", "c", 1),
        (OFFSET, "a", "b", 1),
        (OFFSET, "a-b-c", "", 1),
    ]
    log: list[Row] = [(n, key, True) for n, key in enumerate(keys)]
    made.note(log)
    assert made.keep(log, 4) == [0, 1, 2, 3]


def test_other_retentions(make: Make) -> None:
    """a retention of a minute, and of a year"""
    made = make()
    for retention_ms in (60_000, 365 * 24 * 3_600_000):
        for ago_ms in (retention_ms - 1, retention_ms):
            group = Group("a", EMPTY, 10**12 - ago_ms, "consumer")
            made.expired(group, [("web", 0, 0, None)], 10**12, retention_ms)
