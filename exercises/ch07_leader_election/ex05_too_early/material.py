"""The run of exercise 07-5: a leader with the starter's code loses one acknowledged record."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..two_brokers import Epochs, Event, TwoBrokers
from .starter import Leader

TURNS: Final = 30


class RightFollower:
    """A follower that cuts its log by epochs, which is the right way (exercise 07-4)."""

    def __init__(self) -> None:
        self._leo = 0

    def follow(self, epochs: Epochs, leo: int, _hw: int) -> tuple[str, int]:
        """Return the first operation: ("ask", its newest epoch), or ("cut", 0)."""
        self._leo = leo
        return ("ask", epochs[-1][0]) if epochs else ("cut", 0)

    def answer(self, _epoch: int, end: int) -> tuple[str, int]:
        """Return ("cut", offset). The leader has answered that the epoch ends at `end`."""
        return "cut", min(self._leo, max(end, 0))


class Run(NamedTuple):
    """One complete run: its events, the acknowledged records, and what the learner has to find."""

    events: tuple[Event, ...]
    acked: tuple[int, ...]
    lost: int
    """The number of the record that was acknowledged but is lost."""
    joined: int
    """The number of the event by which the broker without the lost record joined the ISR. The first
    event is 1.
    """


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    lines = [f"{number:>3}  {event.text}" for number, event in enumerate(made.events, 1)]
    end = "Now the leader lacks one record that was acknowledged."
    return {"events.txt": "\n".join((*lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed in which exactly one acknowledged record is lost."""
    for number in count():
        made = run_once(Random(f"early/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Make a run with these random choices, up to the moment when a record is lost. Return None
    unless exactly one record is lost.
    """
    world = TwoBrokers(RightFollower, Leader().may_join)
    for _ in range(TURNS):
        world.go_on(random)
        lost = world.missing()
        if lost:
            break
    else:
        return None
    joined = [n for n, e in enumerate(world.events, 1) if e.joined == world.leader]
    if len(lost) != 1 or not joined or len(world.acked) < 3:
        return None
    return Run(tuple(world.events), tuple(world.acked), lost[0], joined[-1])
