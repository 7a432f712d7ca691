"""Public tests of exercise 06-4. `kafka-edu lab check 06-4` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch, Words
from ..stopping_world import BadOperationError, EndlessError, StoppingWorld
from .material import DISKS, Run, run

WANTED = "(number of the record, number of the event that flushed too early)"


class Asked:
    """A broker with the learner's code, as the simulated world calls it."""

    def __init__(self, learner: Learner, disks: Sequence[str]) -> None:
        self._made = learner.make(list(disks))

    def next(self, came: str) -> object:
        """Return the next operation of the learner's broker. `came` says how the last operation
        ended.
        """
        return self._made.call("next", came)


class Stopped:
    """A broker with the learner's code that has to stop. After each event its disks are checked."""

    def __init__(self, learner: Learner, disks: Sequence[str], failing: Sequence[str] = ()) -> None:
        self._disks = tuple(disks)
        self.world = StoppingWorld(Asked(learner, disks), disks, failing)

    def run(self, random: Random, first: int = 4, *, answers: bool = True) -> None:
        """Stop the broker while clients send requests. If `answers` is False, no request is
        answered before the broker finishes its requests. Raises Mismatch.
        """
        for _ in range(first):
            self.world.client(random, answers=answers)
        self._guarded(random, answers)
        world = self.world
        waiting = world.waiting()
        if waiting:
            raise self._mismatch(
                "every request that was taken is answered",
                f"record {waiting[0]} has no answer",
                self._why_waiting(),
            )
        for disk in self._disks:
            if disk not in world.failed and disk not in world.marked:
                raise self._mismatch(
                    f"disk {disk} is marked",
                    "it has no mark",
                    f"all is on disk {disk}, and the next start would read it again for nothing",
                )

    def _why_waiting(self) -> str:
        if not self.world.has_done("closes its doors"):
            return "the doors were open until the end, so requests arrived until the end"
        if not self.world.has_done("finishes its requests"):
            return "the broker has not finished the requests that it had taken"
        return "it was taken after the others were finished, because the doors were still open"

    def _guarded(self, random: Random, answers: bool) -> None:
        """Run the broker to its end, and check the disks after each event. Raises Mismatch."""
        world = self.world
        try:
            for _ in range(60):
                for _ in range(random.randint(0, 3)):
                    world.client(random, answers=answers)
                    self._look()
                world.operate()
                self._look()
                if world.ended:
                    return
            raise EndlessError
        except BadOperationError as error:
            raise self._mismatch(
                "an operation", str(error), "README.md has a table of them"
            ) from None
        except EndlessError:
            raise self._mismatch(
                'the last operation is ("end",)',
                "there is no end",
                "a broker that stops has to end",
            ) from None

    def _look(self) -> None:
        world = self.world
        for disk in sorted(world.marked):
            if disk in world.failed:
                raise self._mismatch(
                    f"disk {disk} is not marked",
                    "it is marked as clean",
                    f"the flush of disk {disk} failed: the next start has to look",
                )
        for written in world.lost():
            why = (
                "if the machine is switched off, the record is lost, and because of the mark no"
                " start will check the disk"
            )
            if world.last_flush(written.disk) == 0:
                why = f"disk {written.disk} is marked and was never flushed: {why}"
            elif written.event > world.marked[written.disk]:
                why = f"it was written after the mark: {why}"
            else:
                why = f"it was written after the last flush of disk {written.disk}: {why}"
            raise self._mismatch(
                f"record {written.record} is on the disk",
                f"it was acknowledged, and is not on disk {written.disk}",
                why,
            )

    def _mismatch(self, expected: str, came: str, why: str) -> Mismatch:
        events = list(enumerate(self.world.events, 1))[-12:]
        return Mismatch(
            f"a broker with the disk{'s' * (len(self._disks) > 1)} {', '.join(self._disks)}",
            Words(expected),
            Words(came),
            why,
            drawing=tuple(f"{n:>3}  {event.text}" for n, event in events),
        )


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the record that is lost, and the flush that came too early"""
    made = run(material)
    record, event = came = two_numbers(learner, WANTED, [list(DISKS)])
    if record != made.lost.record:
        raise wrong_numbers(WANTED, came, _why_not_record(made, record))
    if event != made.flushed:
        raise wrong_numbers(WANTED, came, _why_not_event(made, event))


def _why_not_record(made: Run, record: int) -> str:
    acked = [one.acked for one in made.events if one.acked]
    if record not in acked:
        return f"events.txt has no acknowledgement of record {record}"
    return f"record {record} was written before the last flush of its disk: it is there"


def _why_not_event(made: Run, event: int) -> str:
    if not 1 <= event <= len(made.events):
        return f"events.txt has the events 1 to {len(made.events)}"
    flushed = made.events[event - 1].flushed
    if not flushed:
        return f"event {event} flushes nothing: {made.events[event - 1].text}"
    return f"record {made.lost.record} is on disk {made.lost.disk}; event {event} flushes {flushed}"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_quiet(learner: Learner, seed: int, number: int) -> None:
    """a broker without clients stops: it marks all of its disks as clean"""
    stopped = Stopped(learner, "abc"[:number])
    while not stopped.world.ended and len(stopped.world.events) < 60:
        _operate(stopped)
    for disk in "abc"[:number]:
        if disk not in stopped.world.marked:
            raise Mismatch(
                "a broker without clients",
                Words(f"disk {disk} is marked at the end"),
                Words("it has no mark"),
                "nothing went wrong, so the next start need not read it",
            )


def _operate(stopped: Stopped) -> None:
    try:
        stopped.world.operate()
    except BadOperationError as error:
        raise Mismatch(
            "a broker without clients",
            Words("an operation"),
            Words(str(error)),
            "README.md has a table of them",
        ) from None


def test_busy(learner: Learner, seed: int) -> None:
    """clients send requests until the broker closes its doors; answers come at any moment"""
    random = Random(f"busy/{seed}")
    for _ in range(30):
        Stopped(learner, ("a", "b")).run(random)


def test_slow_answers(learner: Learner, seed: int) -> None:
    """no request is answered before the broker finishes all of them"""
    random = Random(f"slow/{seed}")
    for _ in range(20):
        Stopped(learner, ("a", "b")).run(random, answers=False)


def test_a_bad_disk(learner: Learner, seed: int) -> None:
    """one of three disks cannot be written"""
    random = Random(f"bad/{seed}")
    for _ in range(12):
        Stopped(learner, ("a", "b", "c"), failing=random.choice("abc")).run(random)


def test_all_disks_are_bad(learner: Learner, seed: int) -> None:
    """no disk can be written: the broker ends nevertheless"""
    Stopped(learner, ("a", "b"), failing=("a", "b")).run(Random(f"none/{seed}"))
