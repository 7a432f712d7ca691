"""The run of exercise 12-5: with the starter's code, one batch is overdue."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..linger_world import BATCH_SIZE, LingerWorld
from .starter import Accumulator

PARTITIONS: Final = ("web-0", "web-1", "web-2")
LEAST_RECORDS: Final = 5
"""The overdue batch has at least this many records."""
LATE_TIMES: Final = 3
"""It has waited at least for this multiple of linger.ms."""


class Run(NamedTuple):
    """One complete run, and what the learner has to find."""

    events: tuple[str, ...]
    linger_ms: int
    end_ms: int
    batch: int
    """The number of the batch that waits."""
    due_ms: int
    """The ms at which it had to be sent."""
    others: tuple[int, ...]
    """The numbers of the other batches."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    lines = [f"{number:>3}  {text}" for number, text in enumerate(made.events, 1)]
    head = f"batch.size is {BATCH_SIZE}, linger.ms is {made.linger_ms}"
    end = f"At {made.end_ms:,} ms one batch is still there that had to go before."
    return {"events.txt": "\n".join((head, "", *lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed in which exactly one batch is overdue."""
    for number in count():
        made = _run_once(Random(f"waits/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def _run_once(random: Random) -> Run | None:
    """Send records to one partition at intervals below linger.ms. The other partitions get records
    less often. Return None unless the only overdue batch belongs to the first partition.
    """
    linger_ms = random.randint(40, 90)
    start_ms = random.randint(1_000, 9_000)
    world = LingerWorld(
        Accumulator(BATCH_SIZE, linger_ms), BATCH_SIZE, linger_ms, start_ms, strict=False
    )
    steady = random.choice(PARTITIONS)
    due = {name: start_ms + random.randint(0, 3 * linger_ms) for name in PARTITIONS}
    records = dict.fromkeys(PARTITIONS, 0)
    while records[steady] < LEAST_RECORDS + 2:
        name = min(PARTITIONS, key=lambda one: due[one])
        world.record(name, random.randint(40, 110), due[name])
        records[name] += 1
        shortest, longest = (
            (linger_ms // 2, linger_ms - 4)
            if name == steady
            else (
                linger_ms + 10,
                3 * linger_ms,
            )
        )
        due[name] += random.randint(shortest, longest)
    overdue = world.overdue()
    if len(overdue) != 1 or overdue[0].partition != steady:
        return None
    late = overdue[0]
    if world.now_ms < late.first_ms + LATE_TIMES * linger_ms:
        return None
    numbers = range(1, 1 + max(one.number for one in world.open.values()))
    return Run(
        tuple(world.events),
        linger_ms,
        world.now_ms,
        late.number,
        late.first_ms + linger_ms,
        tuple(one for one in numbers if one != late.number),
    )
