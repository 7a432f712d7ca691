"""Public tests of exercise 07-5. `kafka-edu lab check 07-5` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch
from ..isr_rules import right_may_join
from ..two_brokers import TwoBrokers
from ..two_brokers_mismatch import refusal
from .material import RightFollower, Run, run

WANTED = "(number of the record, number of the event by which the broker joined)"


def join(made: LearnerObject, leo: int, hw: int, epoch_start: int) -> bool:
    """Return the answer of the learner's `may_join`. Raises Mismatch if it is not True or False."""
    came = made.call("may_join", leo, hw, epoch_start)
    if isinstance(came, bool):
        return came
    raise Mismatch(
        f"may_join({leo}, {hw}, {epoch_start})",
        right_may_join(leo, hw, epoch_start),
        came,
        "the answer is True or False",
    )


class World:
    """Two brokers with the learner's rule. After each step, acknowledged records are checked."""

    def __init__(self, learner: Learner) -> None:
        made = learner.make()
        self.world = TwoBrokers(RightFollower, lambda *asked: join(made, *asked))

    def run(self, random: Random, turns: int) -> None:
        """Do this number of random steps, and then let both brokers catch up. Raises Mismatch."""
        for _ in range(turns):
            self.world.go_on(random)
            self.look()
        self.world.settle()
        self.look()
        if self.world.leader >= 0 and self.world.isr != {0, 1}:
            raise refusal(
                self.world,
                "both brokers are in the ISR",
                f"broker {1 - self.world.leader} is not",
                "it has all records: nothing speaks against it",
            )

    def look(self) -> None:
        """Check that the leader has all acknowledged records. Raises Mismatch if one is missing."""
        missing = self.world.missing()
        if missing:
            raise refusal(
                self.world,
                f"record {missing[0]} is in the leader's log",
                "it is not",
                "it was acknowledged, and then a broker without it became leader",
            )


def check(made: LearnerObject, leo: int, hw: int, epoch_start: int) -> None:
    """Call `may_join`. Raises Mismatch if the answer is wrong."""
    expected = right_may_join(leo, hw, epoch_start)
    if join(made, leo, hw, epoch_start) == expected:
        return
    if leo < hw:
        why = f"the record at offset {leo} is committed, and it does not have it"
    elif leo < epoch_start:
        why = f"this leader began at {epoch_start}, and the follower has not come so far"
    else:
        why = "it has all that counts"
    raise Mismatch(f"may_join({leo}, {hw}, {epoch_start})", expected, not expected, why)


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the lost record, and the event by which the broker without it joined"""
    made = run(material)
    record, event = came = two_numbers(learner, WANTED, ())
    if record != made.lost:
        raise wrong_numbers(WANTED, came, _why_not_record(made, record))
    if event != made.joined:
        raise wrong_numbers(WANTED, came, _why_not_event(made, event))


def _why_not_record(made: Run, record: int) -> str:
    if record not in made.acked:
        return f"record {record} was never acknowledged: it may be lost"
    return f"the last leader has record {record}"


def _why_not_event(made: Run, event: int) -> str:
    if not 1 <= event <= len(made.events):
        return f"events.txt has the events 1 to {len(made.events)}"
    if made.events[event - 1].joined < 0:
        return f"no broker joins by event {event}: {made.events[event - 1].text}"
    return f"the broker that joined by event {event} had record {made.lost}, or left again"


def test_at_the_mark(learner: Learner) -> None:
    """a log ends one record below, at, or above the high watermark"""
    made = learner.make()
    for leo in (2, 3, 4):
        check(made, leo, 3, 0)
    check(made, 0, 0, 0)


def test_at_the_beginning_of_the_epoch(learner: Learner) -> None:
    """a log ends one record below, at, or above the first offset of the leader's epoch"""
    made = learner.make()
    for leo in (4, 5, 6):
        check(made, leo, 2, 5)


def test_any_order(learner: Learner, seed: int) -> None:
    """a hundred and fifty partitions, each with random steps"""
    random = Random(f"any/{seed}")
    for _ in range(150):
        World(learner).run(random, 40)
