"""The two logs of exercise 15-5. The right answers come from the broker's own log and reader."""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Final, NamedTuple

from kafka_edu.record.record_batch import NO_PRODUCER_ID

from ..committed_world import ABORT, COMMIT, PLAIN, TRANSACTIONAL, Batch, CommittedWorld

PRODUCERS: Final = (1, 2, 3)
STEPS: Final = 14

QUESTIONS: Final = """\
# 15-5: your logs

Each line is a batch or a marker. A batch of producer - belongs to no transaction. Each
transaction begins with the producer's first batch, or with its first one after its last
marker. The log begins at offset 0, and a reader reads all that it may see, from the
beginning.

## Log A

{first}

The high watermark is {mark}, the end of the log.

1. `uncommitted`: how many records does a reader with `read_uncommitted` get?
2. `lso`: what is the last stable offset?
3. `holder`: which producer's transaction holds it?
4. `committed`: how many records does a reader with `read_committed` get?
5. `plain`: how many of these belong to no transaction?
6. `last`: what is the offset of the last record that it gets?
7. `after_abort`: now the transaction that holds the last stable offset is aborted, and its
   marker is replicated. How many records does a reader with `read_committed` get in all?

## Log B

{second}

The log ends at {end}. The high watermark is {low}, because a follower lags.

8. `behind`: what is the last stable offset?
9. `caught_up`: the follower catches up: the high watermark is {end}. How many records does a
   reader with `read_committed` get?
10. `named`: how many aborted transactions does the broker name, if it answers a fetch
   with the offsets {start} to {last}?
"""


class Right(NamedTuple):
    """The right answer to one question, and why it is right."""

    answer: int
    why: str


class Logs(NamedTuple):
    """A learner's two logs as tables, and the right answers."""

    text: str
    answers: dict[str, Right]
    tables: tuple[str, str]


def _random_world(random: Random) -> CommittedWorld:
    """Return a log with plain batches, and transactions of three producers."""
    world = CommittedWorld()
    for _ in range(STEPS):
        producer = random.choice((*PRODUCERS, NO_PRODUCER_ID))
        if producer in world.open and random.random() < 0.5:
            world.decide(producer, random.choice((COMMIT, ABORT)))
        else:
            world.write(producer, random.randint(1, 4))
    return world


def _table(batches: list[Batch]) -> str:
    """Return the batches as a table."""
    rows = ["| offsets | producer | what |", "| --- | --- | --- |"]
    for base, last, producer, kind in batches:
        offsets = f"{base}" if base == last else f"{base} to {last}"
        who = "-" if producer == NO_PRODUCER_ID else f"{producer}"
        what = "records" if kind in (PLAIN, TRANSACTIONAL) else f"{kind} marker"
        rows.append(f"| {offsets} | {who} | {what} |")
    return "\n".join(rows)


def _first_logs(random: Random) -> Iterator[CommittedWorld]:
    """Yield random logs that fit log A's questions. In each of them a transaction is open."""
    while True:
        world = _random_world(random)
        world.replicate(world.end)
        stable = world.log.last_stable_offset
        below = [one for one in world.batches if one.last < stable]
        kinds = {one.kind for one in below}
        later = {one.kind for one in world.batches if one.base > stable}
        if kinds >= {PLAIN, COMMIT, ABORT} and later >= {PLAIN, TRANSACTIONAL}:
            yield world


def _second_logs(random: Random) -> Iterator[tuple[CommittedWorld, int]]:
    """Yield random logs without open transactions, each with a high watermark at which the oldest
    unstable transaction already has its marker in the log.
    """
    while True:
        world = _random_world(random)
        for producer in sorted(world.open):
            world.decide(producer, random.choice((COMMIT, ABORT)))
        markers = [one for one in world.batches if one.kind in (COMMIT, ABORT)]
        low = random.choice(markers[1:-1]).base if len(markers) > 2 else 0
        world.replicate(low)
        if 0 < world.log.last_stable_offset < low and len(world.index) > 2:
            yield world, low


@cache
def logs(seed: int) -> Logs:
    """Return the logs for this seed, and the right answers to all questions."""
    random = Random(f"isolation/{seed}")
    first, (second, low) = next(_first_logs(random)), next(_second_logs(random))
    mark, stable = first.end, first.log.last_stable_offset
    holder = next(one for one, offset in first.open.items() if offset == stable)
    tables = _table(first.batches), _table(second.batches)
    all_records = first.read(0, mark, committed=False)
    committed = first.read(0, stable)
    plain = [one for one in first.batches if one.kind == PLAIN]
    held = [each for each in committed if any(one.base <= each <= one.last for one in plain)]
    first.decide(holder, ABORT)
    first.replicate(first.end)
    after = first.read(0, first.log.last_stable_offset)
    behind = second.log.last_stable_offset
    end = second.end
    second.replicate(end)
    starts = [one.base for one in second.batches if second.aborted(one.base, end - 2)]
    start = random.choice(starts[1:] or starts)
    named = second.aborted(start, end - 2)
    answers = {
        "uncommitted": Right(
            len(all_records),
            "it gets all records below the high watermark, aborted ones too, and never a marker",
        ),
        "lso": Right(stable, "it is the first offset of the oldest transaction without a marker"),
        "holder": Right(holder, f"its transaction begins at {stable}, and has no marker"),
        "committed": Right(
            len(committed),
            f"below {stable} it gets the records that belong to no transaction, and those of"
            " committed ones",
        ),
        "plain": Right(
            len(held), f"those below {stable}: the others wait behind the open transaction"
        ),
        "last": Right(committed[-1], f"it is the last one of those that it gets below {stable}"),
        "after_abort": Right(
            len(after),
            "the last stable offset moves on, to the next transaction that is open or to the end",
        ),
        "behind": Right(
            behind, f"the marker of the transaction at {behind} is not below {low} yet"
        ),
        "caught_up": Right(
            len(second.read(0, end)),
            "all transactions are decided: it gets all records but those of aborted ones",
        ),
        "named": Right(
            len(named),
            f"those that begin at {end - 3} or before, and whose marker is at {start} or behind",
        ),
    }
    text = QUESTIONS.format(
        first=tables[0],
        mark=mark,
        second=tables[1],
        low=low,
        end=end,
        start=start,
        last=end - 3,
    )
    return Logs(text, answers, tables)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    return {"questions.md": logs(seed).text}
