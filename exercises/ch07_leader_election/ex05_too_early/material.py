"""The run of exercise 07-5: the starter's leader, which loses one acknowledged record."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..two_brokers import Epochs, Event, TwoBrokers
from .starter import Leader

TURNS: Final = 30


class RightFollower:
    """A broker that is about to follow, by epochs (exercise 07-4)."""

    def __init__(self) -> None:
        self._leo = 0

    def follow(self, epochs: Epochs, leo: int, _hw: int) -> tuple[str, int]:
        """Return what to do first."""
        self._leo = leo
        return ("ask", epochs[-1][0]) if epochs else ("cut", 0)

    def answer(self, _epoch: int, end: int) -> tuple[str, int]:
        """Return where to cut."""
        return "cut", min(self._leo, max(end, 0))


class Run(NamedTuple):
    """All of one run."""

    events: tuple[Event, ...]
    acked: tuple[int, ...]
    lost: int
    """The record that was acknowledged, and is gone."""
    joined: int
    """The number of the event by which the broker joined that lacks it, from 1."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    lines = [f"{number:>3}  {event.text}" for number, event in enumerate(made.events, 1)]
    end = "Now the leader lacks one record that was acknowledged."
    return {"events.txt": "\n".join((*lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the run that a seed gives: the first in which exactly one record is lost."""
    for number in count():
        made = run_once(Random(f"early/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Return the run with these random numbers, up to the loss, or None if not one record is
    lost.
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
