"""The right barrier of exercise 13-3 gives the answers of its README, and always ends."""

from random import Random

import pytest

from exercises.ch13_consumer_groups.join_rules import RightBarrier, Row, World


def test_the_first_example() -> None:
    a, b = Row("a", None, True, 30_000), Row("b", None, False, 60_000)
    right = RightBarrier(False, 3_000, 1_000)
    assert right.look(1_000, [a, b], []) == ("wait", 61_000)
    assert right.look(5_000, [a, b._replace(joined=True)], ["c"]) == ("wait", 61_000)
    assert right.look(6_000, [a, b._replace(joined=True)], []) == ("next", ())


def test_the_second_example() -> None:
    rows = [Row(name, None, True, 300_000) for name in "abc"]
    right = RightBarrier(True, 3_000, 0)
    looks = [(0, 1), (2_000, 2), (3_000, 2), (4_000, 3), (6_000, 3), (9_000, 3)]
    answers = [right.look(now_ms, rows[:count], []) for now_ms, count in looks]
    assert [until for _, until in answers[:-1]] == [3_000, 3_000, 6_000, 6_000, 9_000]
    assert answers[-1] == ("next", ())


@pytest.mark.parametrize("seed", range(40))
def test_it_ends_as_soon_as_one_has_joined(seed: int) -> None:
    """When one member has joined, the barrier ends at the latest after the longest time-out or the
    first delay.
    """
    random = Random(seed)
    world = World(random)
    empty = seed % 2 == 0
    for _ in range(3):
        world.add(joined=True)
    longest = max(row.rebalance_timeout_ms for row in world.rows.values())
    right = RightBarrier(empty, 7_000, 0)
    now_ms = 0
    while True:
        word, until = right.look(now_ms, list(world.rows.values()), world.promised)
        if word == "next":
            break
        assert isinstance(until, int)
        if any(row.joined for row in world.rows.values()):
            assert now_ms < until <= max(longest, 7_000)
        now_ms = min(until, now_ms + 1_500)
        world.add(joined=True)
    assert now_ms <= max(longest, 7_000)
