"""The run of exercise 13-5: with the starter's code, a member joins again without a reason."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..storm_world import LEADER, MEMBERS, PATTERN, StormWorld
from .starter import Watch

LEAST_LINES: Final = 24
"""The first needless join comes at this line, or later."""


class Run(NamedTuple):
    """One complete run, and what the learner has to find."""

    events: tuple[str, ...]
    line: int
    """The first line at which a member joins again without a reason."""
    member: int
    rightly: tuple[int, ...]
    """The lines at which a member joins again because it has to."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    lines = [f"{number:>3}  {text}" for number, text in enumerate(made.events, 1)]
    head = f"Three members read the topics that match {PATTERN}. Member {LEADER} leads."
    return {"events.txt": "\n".join((head, "", *lines)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed that has a needless join after some right joins."""
    for number in count():
        made = _run_once(Random(f"storm/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def _run_once(random: Random) -> Run | None:
    """Let topics come and grow, and let members see them. Later the broker lists topics in another
    order. Return None unless the run is good for the exercise.
    """
    topics = {"web-a": random.randint(1, 4), "orders": 2, "web-b": random.randint(1, 4)}
    world = StormWorld([Watch(PATTERN) for _ in range(MEMBERS)], topics, Random(0), strict=False)
    order = list(topics)
    # All members begin with one order, so that the first storm is the one of the run.
    for number in range(1, MEMBERS + 1):
        world.metadata(number, [(name, topics[name]) for name in order])
    del world.events[:], world.needless[:]
    world.generation = 0
    world.lead(LEADER)
    for step in range(26):
        if step in (4, 12):
            new = f"web-{'cd'[step // 12]}"
            topics[new] = random.randint(1, 4)
            order.append(new)
        if step == 8:
            topics[random.choice(order)] += 1
        if step == 16 or (step > 16 and random.random() < 0.4):
            random.shuffle(order)
        rows = [(name, topics[name]) for name in order]
        world.metadata(random.randint(1, MEMBERS), rows)
    if not world.needless:
        return None
    line, member = world.needless[0]
    rightly = [
        number
        for number, text in enumerate(world.events, 1)
        if "joins again" in text and (number, int(text.split()[1])) not in world.needless
    ]
    if line < LEAST_LINES or len(world.needless) < 3 or len([n for n in rightly if n < line]) < 3:
        return None
    return Run(tuple(world.events), line, member, tuple(rightly))
