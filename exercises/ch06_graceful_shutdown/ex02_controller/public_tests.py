"""Public tests of exercise 06-2. `kafka-edu lab check 06-2` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..shutdown_rows import Row, right_refusal, right_remaining, right_sort, some_rows

EXAMPLE: Final = (
    Row("a-0", (2, 0), 2),
    Row("a-1", (0, 2), 0),
    Row("b-0", (2,), 2),
    Row("c-0", (0, 1), 0),
)


def check_refusal(made: LearnerObject, asked_epoch: int, live_epoch: int | None) -> None:
    """Call `refusal`. Raises Mismatch if the answer is wrong."""
    expected = right_refusal(asked_epoch, live_epoch)
    came = made.call("refusal", asked_epoch, live_epoch)
    if came == expected:
        return
    named = "names no epoch" if asked_epoch == -1 else f"names epoch {asked_epoch}"
    lives = "is not alive" if live_epoch is None else f"has epoch {live_epoch} now"
    raise Mismatch(
        f"refusal({asked_epoch}, {live_epoch})",
        expected,
        came,
        f"the request {named}, and the broker {lives}",
        read="refusal",
    )


def check_sort(made: LearnerObject, broker: int, rows: Sequence[Row]) -> None:
    """Call `sort` for one broker. Raises Mismatch if the answer is wrong."""
    expected = right_sort(broker, rows)
    came = made.call("sort", broker, [row.argument() for row in rows])
    if came == expected:
        return
    raise Mismatch(
        f"sort({broker}, …)",
        expected,
        came,
        _why(broker, rows, expected, came),
        drawing=_shown(rows),
        read="sort",
    )


def check_remaining(made: LearnerObject, broker: int, rows: Sequence[Row]) -> None:
    """Call `remaining` for one broker. Raises Mismatch if the answer is wrong."""
    expected = right_remaining(broker, rows)
    came = made.call("remaining", broker, [row.argument() for row in rows])
    if came == expected:
        return
    raise Mismatch(
        f"remaining({broker}, …)",
        expected,
        came,
        _why_left(broker, rows, expected, came),
        drawing=_shown(rows),
        read="remaining",
    )


def _shown(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(
        f"{row.name:<6} AR {', '.join(map(str, row.replicas)):<8} leader {row.leader}"
        f"{'   is being deleted' if row.deleting else ''}"
        for row in rows[:12]
    )


def _why(
    broker: int,
    rows: Sequence[Row],
    expected: tuple[tuple[str, ...], tuple[str, ...]],
    came: object,
) -> str:
    """Return a sentence about the first partition that is missing in a list, or does not belong
    into it.
    """
    match came:
        case (tuple(moved), tuple(stopped)):
            for row in rows:
                wanted = (row.name in expected[0], row.name in expected[1])
                if (row.name in moved, row.name in stopped) != wanted:
                    return _case(broker, row)
            return "each name is listed once, in the order of the rows"
    return "it is (names to move, names to stop)"


def _case(broker: int, row: Row) -> str:
    """Return a sentence that says what has to be done with this partition, and why."""
    if broker not in row.replicas:
        return f"{row.name} has no replica on broker {broker}: it is in neither list"
    if row.deleting:
        return f"the topic of {row.name} is being deleted: it is in neither list"
    if len(row.replicas) == 1:
        return f"broker {broker} has the only replica of {row.name}: nothing can be done"
    if row.leader is None:
        return f"{row.name} has never had a leader: it is in neither list"
    if row.leader == broker:
        return f"broker {broker} leads {row.name}, and others have a replica: it moves"
    if row.leader == -1:
        return f"{row.name} has no leader, and broker {broker} has a replica: this replica stops"
    return f"broker {broker} follows in {row.name}: its replica stops"


def _why_left(broker: int, rows: Sequence[Row], expected: tuple[str, ...], came: object) -> str:
    if not isinstance(came, tuple):
        return "it is a list of names"
    for row in rows:
        if (row.name in came) == (row.name in expected):
            continue
        if row.name in expected:
            return f"broker {broker} still leads {row.name}, and others have a replica"
        if row.leader != broker:
            return f"broker {broker} does not lead {row.name}"
        if row.deleting:
            return f"the topic of {row.name} is being deleted: it does not count"
        return f"broker {broker} has the only replica of {row.name}: it does not count"
    return "each name is listed once, in the order of the rows"


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    made = learner.make()
    check_refusal(made, -1, None)
    check_refusal(made, 41, 57)
    check_sort(made, 2, EXAMPLE)
    check_remaining(made, 2, EXAMPLE)


def test_refusals(learner: Learner) -> None:
    """the broker is dead, alive, or has restarted; its request has an epoch, or has none"""
    made = learner.make()
    for asked in (-1, 0, 5, 7, 9):
        for live in (None, 0, 5, 7):
            check_refusal(made, asked, live)


def test_one_replica(learner: Learner) -> None:
    """a partition with a single replica is in no list"""
    made = learner.make()
    check_sort(made, 1, [Row("a-0", (1,), 1), Row("a-1", (0,), 0), Row("a-2", (1,), -1)])
    check_remaining(made, 1, [Row("a-0", (1,), 1), Row("a-1", (1, 0), 1)])


def test_without_a_leader(learner: Learner) -> None:
    """a partition has no leader now, or has never had one"""
    made = learner.make()
    rows = [Row("a-0", (1, 0), -1), Row("a-1", (1, 0), None), Row("a-2", (0, 2), -1)]
    check_sort(made, 1, rows)
    check_remaining(made, 1, rows)


def test_deleted_topics(learner: Learner) -> None:
    """a partition of a topic that is being deleted is in no list"""
    made = learner.make()
    rows = [Row("a-0", (1, 0), 1, True), Row("a-1", (0, 1), 0, True), Row("b-0", (1, 0), 1)]
    check_sort(made, 1, rows)
    check_remaining(made, 1, rows)


def test_broker_0(learner: Learner) -> None:
    """broker 0 is handled like any other broker"""
    made = learner.make()
    rows = [Row("a-0", (0, 1), 0), Row("a-1", (0, 1), 1), Row("a-2", (1, 2), 1)]
    check_sort(made, 0, rows)
    check_remaining(made, 0, rows)


def test_after_the_elections(learner: Learner) -> None:
    """two partitions have got a new leader, and one could not get any"""
    made = learner.make()
    rows = [Row("a-0", (2, 0), 0), Row("a-1", (2, 1), 2), Row("a-2", (2, 0), 0)]
    check_remaining(made, 2, rows)
    check_remaining(made, 0, rows)


def test_random(learner: Learner, seed: int) -> None:
    """eighty random brokers that want to stop"""
    random = Random(f"rows/{seed}")
    made = learner.make()
    for _ in range(80):
        rows, broker = some_rows(random, random.randint(0, 9)), random.randrange(4)
        check_sort(made, broker, rows)
        check_remaining(made, broker, rows)
        check_refusal(made, random.randint(-1, 9), random.choice((None, 3, 7)))
