"""Public tests of exercise 10-4. `kafka-edu lab check 10-4` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch, Words
from ..sent_world import BROKERS, BadAnswerError, SentWorld
from .material import Run, run

WANTED: Final = "(number of the record, number of the event by which it was acknowledged)"
LINES: Final = 12


class Asked:
    """A leader with the learner's code, as the simulated world calls it."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()

    def fetched(self, follower: int, offset: int, sent: int) -> object:
        """Pass a follower's fetch to the learner's leader."""
        return self._made.call("fetched", follower, offset, sent)

    def high_watermark(self, hw: int, leo: int, isr: Sequence[int]) -> object:
        """Return the high watermark that the learner's leader computes."""
        return self._made.call("high_watermark", hw, leo, isr)


class World:
    """Three brokers with the learner's code. After each step the high watermark is checked."""

    def __init__(self, learner: Learner) -> None:
        self.world = SentWorld(lambda: Asked(learner))

    def go_on(self, random: Random, turns: int) -> None:
        """Do this number of random steps. Raises Mismatch."""
        try:
            for _ in range(turns):
                self.world.go_on(random)
                self.look()
        except BadAnswerError as error:
            raise self._refusal("an offset from hw to leo", f"{error}", "it is a mark") from None

    def settle(self) -> None:
        """Let all brokers catch up. Then all records must be acknowledged. Raises Mismatch."""
        self.world.settle()
        self.look()
        world = self.world
        end = world.replicas[world.leader].leo
        if world.hw < end:
            raise self._refusal(
                f"the high watermark is {end}",
                f"it is {world.hw}",
                "all three brokers have fetched from there, so they have all below",
            )

    def look(self) -> None:
        """Check that every ISR member has all acknowledged records. Raises Mismatch if not."""
        world = self.world
        missing = world.missing()
        if missing:
            raise self._refusal(
                f"record {missing[0]} is in the leader's log",
                "it is not",
                "it was acknowledged, and then a broker without it became leader",
            )
        behind = world.ahead_of()
        if behind is not None:
            raise self._refusal(
                f"the high watermark is at most {world.replicas[behind].leo}",
                f"it is {world.hw}",
                f"broker {behind} is in the ISR, and its log ends at {world.replicas[behind].leo}",
            )

    def _refusal(self, expected: str, came: str, why: str) -> Mismatch:
        events = list(enumerate(self.world.events, 1))[-LINES:]
        return Mismatch(
            "three brokers and one partition",
            Words(expected),
            Words(came),
            why,
            drawing=tuple(f"{number:>3}  {event.text}" for number, event in events),
        )


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the record that is lost, and the event by which it was acknowledged"""
    made = run(material)
    record, event = came = two_numbers(learner, WANTED, ())
    if record != made.lost:
        raise wrong_numbers(WANTED, came, _why_not_record(made, record))
    if event != made.by:
        raise wrong_numbers(WANTED, came, _why_not_event(made, event))


def _why_not_record(made: Run, record: int) -> str:
    if record not in made.acked:
        return f"record {record} was never acknowledged: it may be lost"
    return f"the last leader has record {record}"


def _why_not_event(made: Run, event: int) -> str:
    if not 1 <= event <= len(made.events):
        return f"events.txt has the events 1 to {len(made.events)}"
    if not made.events[event - 1].acked:
        return f"by event {event} no record is acknowledged: {made.events[event - 1].text}"
    return f"event {event} does not acknowledge record {made.lost}"


def test_the_answer_is_on_its_way(learner: Learner) -> None:
    """both followers fetch a record, and the leader dies before its answers arrive"""
    world = World(learner)
    one = world.world
    one.write()
    for follower in BROKERS[1:]:
        one.fetch(follower)
        world.look()
    one.kill(0)
    world.look()
    world.settle()


def test_the_answer_is_lost(learner: Learner) -> None:
    """an answer is lost, and the follower asks again from the same offset"""
    world = World(learner)
    one = world.world
    one.write()
    one.fetch(2)
    one.arrive(2)
    one.fetch(2)
    for _ in range(3):
        one.fetch(1)
        world.look()
        one.lose(1)
    world.settle()


def test_one_record(learner: Learner) -> None:
    """one record is written, fetched and acknowledged, step by step"""
    world = World(learner)
    one = world.world
    one.write()
    for follower in BROKERS[1:]:
        one.fetch(follower)
        one.arrive(follower)
    if one.hw != 0:
        world.look()
        raise _mark(0, one.hw, "no follower has fetched from 1 yet")
    for follower in BROKERS[1:]:
        one.fetch(follower)
    if one.hw != 1:
        raise _mark(1, one.hw, "both followers have fetched from 1")


def _mark(expected: int, came: int, why: str) -> Mismatch:
    return Mismatch("high_watermark", expected, came, why)


def test_a_member_is_killed(learner: Learner) -> None:
    """a follower that lags is killed and leaves the ISR: the high watermark moves on without it"""
    world = World(learner)
    one = world.world
    one.write()
    for _ in range(2):
        one.fetch(1)
        one.arrive(1)
    world.look()
    one.kill(2)
    if one.hw != 1:
        raise _mark(1, one.hw, "broker 1 has the record, and broker 2 has left the ISR")
    one.kill(1)
    one.write()
    if one.hw != 2:
        raise _mark(2, one.hw, "the leader is alone in the ISR")
    world.settle()


def test_any_order(learner: Learner, seed: int) -> None:
    """forty partitions, each with random steps"""
    random = Random(f"any/{seed}")
    for _ in range(40):
        world = World(learner)
        world.go_on(random, 40)
        world.settle()
