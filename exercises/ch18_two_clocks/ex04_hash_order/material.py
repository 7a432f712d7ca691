"""The two runs of exercise 18-4: the same calls, and another order of the starter's sets."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..placing_world import Answer, Call, Name, Placer, RightPlacer, answer, random_calls
from .starter import Placer as Starter

CALLS: Final = 22
PARTITIONS: Final = 12
LEAST: Final = 7
"""The two runs first differ at this call, or at a later call."""
AFTERWARDS: Final = 4
"""How many calls follow, at least."""


class Runs(NamedTuple):
    """Two runs with the same calls, and what the learner has to find."""

    lines: tuple[str, ...]
    call: int
    brokers: int
    calls: int
    """How many calls there are."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = runs(seed)
    title = "The same calls, with the hash seeds A and B"
    return {"events.txt": "\n".join((title, "", *made.lines, ""))}


def runs(seed: int) -> Runs:
    """Return the first two runs for this seed that differ, but not too early."""
    for number in count():
        made = _try(Random(f"hash order/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def _try(random: Random) -> Runs | None:
    """Make two runs. Return None unless they fit the exercise."""
    calls = random_calls(random, CALLS, PARTITIONS)
    first, second = (play(Starter(), calls, hash_seed) for hash_seed in (1, 2))
    parted = [n for n, (a, b) in enumerate(zip(first, second, strict=True), 1) if a != b]
    if not parted or not LEAST <= parted[0] <= len(calls) - AFTERWARDS:
        return None
    at = parted[0]
    right = RightPlacer()
    for call, came in zip(calls[: at - 1], first, strict=False):
        if answer(right, call) != came:
            return None  # both runs are wrong in the same way
    call = calls[at - 1]
    brokers = right.equal(call.name if call.method == "leave" else "")
    lines = []
    for number, (one, a, b) in enumerate(zip(calls, first, second, strict=True), 1):
        lines.append(f"{number:>3}  {one}")
        if a is not None:
            lines += [f"       A: {_words(a)}", f"       B: {_words(b)}"]
    return Runs(tuple(lines), at, brokers, len(calls))


def play(placer: Placer, calls: list[Call], hash_seed: int) -> list[Answer]:
    """Return the answers of a placer, with this seed of the hashes."""
    return [answer(placer, call._replace(name=Name(call.name, hash_seed))) for call in calls]


def _words(came: Answer) -> str:
    if isinstance(came, tuple):
        return ", ".join(f"{partition} to {broker}" for partition, broker in came) or "nothing"
    return str(came)
