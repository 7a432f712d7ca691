"""The run of exercise 14-4: with the starter's code, records are committed but never processed."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..auto_commit_world import AutoCommitWorld
from .starter import AutoCommit

EACH: Final = 40
"""How many records each of the two partitions has."""
FEWEST_COMMITS: Final = 3
MOST_LOST: Final = 4
MOST: Final = 4
"""max.poll.records of both members."""
LATER_STEPS: Final = 14
"""The number of steps of the second member that are shown."""


class Run(NamedTuple):
    """One complete run, and what the learner has to find."""

    events: tuple[str, ...]
    interval_ms: int
    offset: int
    """The first record that no member has worked on."""
    lost: tuple[int, ...]
    """All records that are lost."""
    commit_ms: int
    """The time of the commit that lost this record."""
    done: tuple[int, ...]
    """The offsets of the records that were done. Those of different partitions differ."""
    commits: tuple[int, ...]
    """The times of the other commits."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    lines = [f"{number:>3}  {text}" for number, text in enumerate(made.events, 1)]
    head = f"auto.commit.interval.ms is {made.interval_ms}, max.poll.records is {MOST}"
    end = "Here the list ends. Member B goes on."
    return {"events.txt": "\n".join((head, "", *lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed in which a few records of one partition are lost."""
    for number in count():
        made = _run_once(Random(f"auto-commit/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def _run_once(random: Random) -> Run | None:
    """Kill a member, and let another member continue. Return None unless records are lost."""
    interval_ms = random.randint(200, 400)
    first = {"web-0": random.randint(100, 300), "web-1": random.randint(500, 900)}
    world = AutoCommitWorld(random, first, EACH)
    world.begin(AutoCommit(interval_ms, MOST), "member A")
    commits: set[int] = set()
    for _ in range(random.randint(30, 60)):
        if not world.step():
            return None
        commits.update(world.committed_ms.values())
    lost = world.lost()
    if not 1 <= len(lost) <= MOST_LOST or len({name for name, _ in lost}) > 1:
        return None
    if len(commits) < FEWEST_COMMITS:
        return None
    name, offset = lost[0]
    commit_ms = world.committed_ms[name]
    world.kill()
    world.now_ms += random.randint(50, 200)
    world.begin(AutoCommit(interval_ms, MOST), "member B")
    for _ in range(LATER_STEPS):
        world.step()
    return Run(
        tuple(world.events),
        interval_ms,
        offset,
        tuple(at for _, at in lost),
        commit_ms,
        tuple(sorted(at for _, at in world.done)),
        tuple(sorted(commits - {commit_ms})),
    )
