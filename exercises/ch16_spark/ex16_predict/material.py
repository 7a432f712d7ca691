"""The questions of exercise 16-16 about a killed stream, with each learner's numbers. The right
answers come from a small stream that is run, killed and started again.
"""

from enum import Enum, auto
from random import Random
from typing import Final, NamedTuple

QUESTIONS: Final = """\
# 16-16: your numbers

A stream of Spark reads a topic of one partition, and writes all of its records
into a sink. At its start {records} records are in the topic. A micro-batch reads at
most {limit} records (`maxOffsetsPerTrigger`), and it always reads as many as it may.
Batches 0 and 1 are done. Then, in batch 2, the driver is killed (-9). While it
is down, {more} more records are written to the topic. It starts again with the same
checkpoint and `maxOffsetsPerTrigger={new_limit}`, and works until it has read all.

The driver is killed **before** Spark has written the file `offsets/2`:

1. `not_planned`: batch 2 reads up to an offset, this one not included. Which?

The driver is killed **after** `offsets/2` was written, and before a task runs:

2. `planned`: the same question.
3. `last_batch`: which number has the last batch?

The driver is killed after the sink has got {part} of the {limit} rows of batch 2, and
before `commits/2` is written. How many rows are there at the end, if

4. `appended`: the sink appends rows to what is there?
5. `overwritten`: it writes the folder `batch=2`, in mode overwrite?
6. `skipped`: it does nothing if the folder `batch=2` exists?

The sink is a topic, and the {part} records were written in a transaction of batch
2, which was not committed. The sink aborts it after the restart, and writes the
batch in a new transaction. How many records does a consumer count at the end, if

7. `uncommitted`: it reads with `read_uncommitted`?
8. `committed`: it reads with `read_committed`?

All answers are whole numbers. The markers of transactions are no records.
"""
KILLED: Final = 2
"""The number of the batch in which the driver is killed."""


class Plan(NamedTuple):
    """The numbers in the questions, which the seed determines."""

    records: int
    limit: int
    more: int
    new_limit: int
    part: int


class Kill(Enum):
    """The point of batch 2 at which the driver is killed."""

    BEFORE_OFFSETS = auto()
    AFTER_OFFSETS = auto()
    IN_THE_ROWS = auto()


class Sink(Enum):
    """How the sink handles a batch that comes again."""

    APPENDS = auto()
    OVERWRITES = auto()
    SKIPS = auto()
    TRANSACTIONS = auto()


class Stream:
    """A stream with its checkpoint and its sink. Both survive a kill."""

    def __init__(self, sink: Sink, records: int) -> None:
        self.records = records
        self.sink = sink
        self.planned: dict[int, int] = {}
        """The folder `offsets`: number of a batch → the offset up to which it reads."""
        self.done: set[int] = set()
        """The folder `commits`: the batches that are done."""
        self.written: list[tuple[int, int, bool]] = []
        """(batch, offset, whether its transaction was not committed) of all rows in the sink."""

    def run(self, limit: int, kill: Kill | None = None, part: int = 0) -> None:
        """Run to the end of the topic, or to the kill in batch 2."""
        while True:
            number = max(self.done, default=-1) + 1
            begin = self.planned.get(number - 1, 0)
            if number not in self.planned:
                if begin == self.records:
                    return
                if kill is Kill.BEFORE_OFFSETS and number == KILLED:
                    return
                self.planned[number] = min(begin + limit, self.records)
            if kill is Kill.AFTER_OFFSETS and number == KILLED:
                return
            offsets = range(begin, self.planned[number])
            if kill is Kill.IN_THE_ROWS and number == KILLED:
                open_now = self.sink is Sink.TRANSACTIONS
                self.written += ((number, offset, open_now) for offset in offsets[:part])
                return
            self._write(number, offsets)
            self.done.add(number)

    def _write(self, number: int, offsets: range) -> None:
        came_before = any(batch == number for batch, _, _ in self.written)
        if self.sink is Sink.SKIPS and came_before:
            return
        if self.sink is Sink.OVERWRITES:
            self.written = [row for row in self.written if row[0] != number]
        self.written += ((number, offset, False) for offset in offsets)


def plan(seed: int) -> Plan:
    """Return the numbers that the seed determines."""
    random = Random(seed)
    limit = random.randint(40, 90)
    new_limit = random.choice((limit // 2, limit + random.randint(3, 30)))
    return Plan(
        records=3 * limit + random.randint(20, 200),
        limit=limit,
        more=random.randint(100, 300),
        new_limit=new_limit,
        part=random.randint(5, limit - 5),
    )


def make(seed: int) -> dict[str, str]:
    """Return the content of the learner's file questions.md, by its name."""
    return {"questions.md": QUESTIONS.format(**plan(seed)._asdict())}


def right_answers(seed: int) -> dict[str, int]:
    """Return the right answers: streams are run, killed, and started again."""
    numbers = plan(seed)

    def ran(kill: Kill, sink: Sink = Sink.APPENDS) -> Stream:
        stream = Stream(sink, numbers.records)
        stream.run(numbers.limit, kill, numbers.part)
        stream.records += numbers.more
        stream.run(numbers.new_limit)
        return stream

    half = {sink: ran(Kill.IN_THE_ROWS, sink).written for sink in Sink}
    planned = ran(Kill.AFTER_OFFSETS)
    return {
        "not_planned": ran(Kill.BEFORE_OFFSETS).planned[KILLED],
        "planned": planned.planned[KILLED],
        "last_batch": max(planned.planned),
        "appended": len(half[Sink.APPENDS]),
        "overwritten": len(half[Sink.OVERWRITES]),
        "skipped": len(half[Sink.SKIPS]),
        "uncommitted": len(half[Sink.TRANSACTIONS]),
        "committed": sum(not aborted for _, _, aborted in half[Sink.TRANSACTIONS]),
    }
