"""Public tests of exercise 09-4. `kafka-edu lab check 09-4` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch
from ..tombstone_world import HOUR_MS, NEVER, RETENTION_MS, TombstoneWorld, right_may_go
from .material import Run, run

WANTED = "(offset of the tombstone, number of the event by which it was removed)"


def may_go(made: LearnerObject, written: int, cleaned: int, now: int, retention: int) -> bool:
    """Return the learner's answer. Raises Mismatch if it is not True or False."""
    came = made.call("may_go", written, cleaned, now, retention)
    if isinstance(came, bool):
        return came
    raise Mismatch(
        f"may_go({written}, {cleaned}, {now}, {retention})",
        right_may_go(written, cleaned, now, retention),
        came,
        "the answer is True or False",
    )


def check(made: LearnerObject, written: int, cleaned: int, now: int, retention: int) -> None:
    """Call `may_go`. Raises Mismatch if the answer is wrong."""
    expected = right_may_go(written, cleaned, now, retention)
    if may_go(made, written, cleaned, now, retention) is expected:
        return
    if cleaned == NEVER:
        why = "no pass has kept it yet: a reader may have its key's old value since just now"
    elif expected:
        why = f"a pass kept it {now - cleaned:,} ms ago: every reader has seen it"
    else:
        why = f"a pass kept it first {now - cleaned:,} ms ago: a reader may not be there yet"
    raise Mismatch(f"may_go({written}, {cleaned}, {now}, {retention})", expected, not expected, why)


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the tombstone that the reader needed, and the event that removed it"""
    made = run(material)
    offset, event = came = two_numbers(learner, WANTED, ())
    if offset != made.returned.tombstone:
        raise wrong_numbers(WANTED, came, f"offset {offset} did not delete the key that came back")
    if event != made.returned.removed_by:
        raise wrong_numbers(WANTED, came, _why_not(made, event))


def _why_not(made: Run, event: int) -> str:
    if not 1 <= event <= len(made.events):
        return f"events.txt has the events 1 to {len(made.events)}"
    return f"event {event} does not remove it: {made.events[event - 1].strip()}"


def test_first_pass(learner: Learner) -> None:
    """a tombstone that no pass has kept yet, however old it is"""
    made = learner.make()
    for hours in (0, 23, 24, 25, 1_000):
        check(made, 0, NEVER, hours * HOUR_MS, RETENTION_MS)
    check(made, 5, NEVER, 5, 0)
    check(made, 0, NEVER, 1, 0)


def test_around_the_limit(learner: Learner) -> None:
    """a pass kept the tombstone for exactly delete.retention.ms, or for a ms more or less"""
    made = learner.make()
    for retention in (0, 1, RETENTION_MS):
        for late in (-1, 0, 1):
            cleaned = 7 * HOUR_MS
            now = cleaned + retention + late
            if now >= cleaned:
                check(made, 0, cleaned, now, retention)
                check(made, cleaned, cleaned, now, retention)
    check(made, 0, 0, RETENTION_MS, RETENTION_MS)
    check(made, 0, 0, RETENTION_MS + 1, RETENTION_MS)


class World:
    """A log, its cleaner with the learner's rule, and a reader that always reads to the end in
    time.
    """

    def __init__(self, made: LearnerObject) -> None:
        self._world = TombstoneWorld(lambda *asked: may_go(made, *asked))

    def go_on(self, random: Random, turns: int) -> None:
        """Do this number of random steps. Raises Mismatch if a deleted key comes back."""
        for _ in range(turns):
            self._world.go_on(random)
            if self._world.returned:
                one = self._world.returned[0]
                raise Mismatch(
                    "the reader's table",
                    f"no {one.key}",
                    f"{one.key}",
                    f"its tombstone, offset {one.tombstone}, was removed before the reader came",
                    drawing=tuple(self._world.events[-14:]),
                    read="may_go",
                )

    def settle(self) -> None:
        """Let a long time pass, then clean the log twice. Raises Mismatch if a tombstone is
        left.
        """
        self._world.settle()
        if self._world.tombstones():
            raise Mismatch(
                "the log, long after",
                "no tombstone",
                f"the tombstones {self._world.tombstones()}",
                "they have been seen by all: nothing speaks for them any more",
                drawing=tuple(self._world.events[-8:]),
                read="may_go",
            )


def test_any_order(learner: Learner, seed: int) -> None:
    """two hundred logs, each with random steps, and a reader that reads to the end in time"""
    random = Random(f"any/{seed}")
    made = learner.make()
    for _ in range(200):
        world = World(made)
        world.go_on(random, 50)
        world.settle()
