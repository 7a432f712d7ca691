"""Public tests of exercise 06-5. `kafka-edu lab check 06-5` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch
from ..handler_world import Answer, HandlerWorld, Row, right
from .material import Run, run

WANTED = "(number of the event with the answer, number of the partition)"
ALL: Final = (0, 1, 2)


def check(
    made: LearnerObject, broker: int, rows: Sequence[Row], live: Sequence[int] = ALL
) -> Answer:
    """Call `let_go` for one broker, and return the right answer. Raises Mismatch if the learner's
    answer is wrong.
    """
    expected = right(broker, rows, live)
    came = made.call("let_go", broker, [row.argument() for row in rows], list(live))
    if came == expected:
        return expected
    raise Mismatch(
        f"let_go({broker}, …, {list(live)})",
        expected,
        came,
        _why(broker, rows, expected, came),
        drawing=tuple(
            f"{row.name:<6} replicas {', '.join(map(str, row.replicas)):<8}"
            f" ISR {', '.join(map(str, row.isr)):<8} leader {row.leader}"
            for row in rows[:12]
        ),
        read="let_go",
    )


def _why(broker: int, rows: Sequence[Row], expected: Answer, came: object) -> str:
    """Return a sentence about the first partition that is missing in a list, or does not belong
    into it.
    """
    match came:
        case (tuple(moved), tuple(remaining), tuple(offline)):
            pass
        case _:
            return "it is three lists: (moved, remaining, offline)"
    for row in rows:
        led = [leader for name, leader in expected[0] if name == row.name]
        if not led and any(row.name in pair for pair in moved if isinstance(pair, tuple)):
            return f"no other broker can lead {row.name}, or {row.name} does not have to move"
        if led and (row.name, led[0]) not in moved:
            return (
                f"{row.name} moves to broker {led[0]}, the first of its replicas that lives, is in"
                f" the ISR, and is not broker {broker}"
            )
        if row.name in expected[1] and row.name not in remaining:
            return f"broker {broker} still leads {row.name}: no other member of its ISR is alive"
        if row.name in expected[2] and row.name not in offline:
            return _dark(broker, row)
        if row.name in remaining and row.name not in expected[1]:
            if row.name in expected[2]:
                return (
                    f"only broker {broker} has {row.name}: it goes offline, but it does not remain"
                )
            return f"{row.name} does not remain: broker {broker} does not lead it after that"
        if row.name in offline and row.name not in expected[2]:
            if row.leader == -1:
                return f"{row.name} had no leader before: broker {broker} is not the cause"
            return f"{row.name} has a leader when broker {broker} stops"
    return "each partition is listed once, in the order of the rows"


def _dark(broker: int, row: Row) -> str:
    if len(row.replicas) == 1:
        return f"only broker {broker} has {row.name}: when it stops, the partition has no leader"
    return f"no other leader is possible for {row.name}: when broker {broker} stops, it has none"


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the wrong answer, and the offline partition that it does not name"""
    made = run(material)
    answer, partition = came = two_numbers(learner, WANTED, ())
    if answer != made.answer:
        raise wrong_numbers(WANTED, came, _why_not(made, answer))
    if partition != made.partition:
        raise wrong_numbers(
            WANTED, came, f"web-{partition} has a leader, or the answer of event {answer} names it"
        )


def _why_not(made: Run, answer: int) -> str:
    if not 1 <= answer <= len(made.events):
        return f"events.txt has the events 1 to {len(made.events)}"
    if "is let go" not in made.events[answer - 1].text:
        return f"event {answer} is no answer: {made.events[answer - 1].text}"
    return f"the answer of event {answer} names all that went offline by it"


def test_all_well(learner: Learner) -> None:
    """each partition has another broker that can lead it"""
    made = learner.make()
    rows = [
        Row("a-0", (2, 0, 1), (2, 0, 1), 2),
        Row("a-1", (0, 2), (0, 2), 0),
        Row("a-2", (2, 0, 1), (1, 2, 0), 2),
    ]
    check(made, 2, rows)
    check(made, 1, rows)


def test_one_replica(learner: Learner) -> None:
    """a partition has its only replica here: it goes offline, but does not count as remaining"""
    made = learner.make()
    check(made, 2, [Row("a-0", (2,), (2,), 2), Row("a-1", (0,), (0,), 0)])
    check(made, 0, [Row("a-0", (2,), (2,), 2), Row("a-1", (0,), (0,), 0)])


def test_nobody_in_sync(learner: Learner) -> None:
    """other replicas exist, but they are not in the ISR"""
    made = learner.make()
    check(made, 2, [Row("a-0", (2, 0), (2,), 2), Row("a-1", (1, 2, 0), (2, 0), 2)])


def test_the_others_are_dead(learner: Learner) -> None:
    """other replicas are in the ISR, but their brokers are dead"""
    made = learner.make()
    check(made, 2, [Row("a-0", (2, 0), (2, 0), 2), Row("a-1", (2, 1), (2, 1), 2)], (1, 2))


def test_without_a_leader_already(learner: Learner) -> None:
    """a partition without a leader is offline already, so the shutdown does not report it"""
    made = learner.make()
    check(made, 2, [Row("a-0", (0,), (0,), -1), Row("a-1", (2, 0), (0,), -1)], (1, 2))


def test_a_life(learner: Learner, seed: int) -> None:
    """brokers stop and come back, in clusters of three and four brokers"""
    random = Random(f"life/{seed}")
    made = learner.make()
    for brokers in (3, 4, 3):
        world = HandlerWorld(random, brokers, 7)
        for _ in range(15):
            world.go_on(partial(check, made))
