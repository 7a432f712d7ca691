"""Simulates a streaming query with transactions that is killed after any step and started again.

The learner's code decides the steps. This module takes them, kills the driver, and checks the
result. A step is what the broker or the checkpoint would see. A killed driver may leave a running
task behind: a *zombie*, which does its remaining steps later.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

PARTITIONS: Final = 2
MAX_BATCHES: Final = 6
"""The limit of planned batches. A driver that plans more for the few rows would never end."""

Step = tuple[object, ...]


class Code(Protocol):
    """The class ExactlyOnce of exercise 16-4: a learner's class, or the solution."""

    def next_batch(
        self,
        planned: Sequence[tuple[int, Sequence[int]]],
        committed: Sequence[int],
        latest: Sequence[int],
    ) -> object: ...

    def transactional_id(self, task: int, partition: int) -> object: ...

    def steps(
        self,
        batch_id: int,
        task: int,
        partition: int,
        rows: Sequence[str],
        marks: dict[str, int],
    ) -> object: ...


class Refused(Exception):
    """The learner's code returned a value that README.md does not allow. The text says which."""


class Zombie(NamedTuple):
    """A task whose driver was killed, with the steps that it still has to do."""

    name: str
    transactional_id: str
    epoch: int
    steps: list[Step]


class Transaction(NamedTuple):
    """The rows and marks that a task has written but not committed."""

    rows: list[str]
    marks: dict[str, int]


class Plan(NamedTuple):
    """After how many steps the driver is killed, and after how many the zombie continues."""

    kill_after: int
    zombie_after: int | None
    """Counted from the new start. None means that the task is killed together with the driver."""


class _Killed(Exception):
    """Raised at the step after which the driver is killed."""


class World:
    """A source topic, a checkpoint and a result topic, and the query that uses them."""

    def __init__(self, code: Code, plan: Plan, rows: Sequence[int], later: Sequence[int]) -> None:
        """`rows` says how many rows each partition of the source has at first. `later` says how
        many it has after the kill.
        """
        self._code = code
        self._plan = plan
        self._latest = list(rows)
        self._later = later
        self._epochs: Counter[str] = Counter()
        self._open: dict[str, Transaction] = {}
        self._steps = 0
        self._since_start = 0
        self._was_killed = False
        self._zombie: Zombie | None = None
        self.planned: list[tuple[int, list[int]]] = []
        self.committed: list[int] = []
        self.result: list[str] = []
        """The rows that a read_committed consumer sees."""
        self.marks: dict[str, int] = {}
        self.trace: list[str] = []
        self._who: tuple[str, str, int, list[Step]] | None = None

    def run(self) -> None:
        """Run the query, kill it once, and run it again to its end. Raises Refused."""
        try:
            self._query(tasks=(0, 1))
        except _Killed:
            self.trace.append("✗ the driver is killed")
            self._was_killed = True
            self._since_start = 0
            self._latest = list(self._later)
            self.trace.append("  the query starts again; its tasks get other numbers")
            self._query(tasks=(1, 0))
        self._zombie_goes_on()

    def _query(self, tasks: tuple[int, int]) -> None:
        """Run batches until everything in the topic is read."""
        while True:
            answer = self._code.next_batch(
                [(one, tuple(end)) for one, end in self.planned],
                tuple(self.committed),
                tuple(self._latest),
            )
            if answer is None:
                return
            batch_id, start, end = _batch(answer)
            if len(self.planned) > MAX_BATCHES:
                raise Refused(
                    f"the driver has planned {len(self.planned)} batches, and finds no end:"
                    " next_batch returns None when all is committed and nothing is new"
                )
            if batch_id not in [one for one, _ in self.planned]:
                self.planned.append((batch_id, list(end)))
                self._did("driver", f"plans batch {batch_id}: {_ranges(start, end)}")
            for partition in range(PARTITIONS):
                rows = [f"web-{partition}@{one}" for one in range(start[partition], end[partition])]
                if rows:
                    self._task(batch_id, tasks[partition], partition, rows)
            self.committed.append(batch_id)
            self._did("driver", f"batch {batch_id} is done: commit log")

    def _task(self, batch_id: int, task: int, partition: int, rows: list[str]) -> None:
        name = f"task {task}"
        tid = self._code.transactional_id(task, partition)
        if not isinstance(tid, str) or not tid:
            raise Refused(f"transactional_id({task}, {partition}) returned {tid!r}, not a text")
        self._epochs[tid] += 1  # fences whoever had this id, and aborts what it left open
        epoch = self._epochs[tid]
        self._open[tid] = Transaction([], {})
        self._who = (name, tid, epoch, [])
        self._did(name, f"web-{partition}: begins as {tid!r}, epoch {epoch}")
        steps = _steps(self._code.steps(batch_id, task, partition, tuple(rows), dict(self.marks)))
        if not steps:
            self.trace.append(f"  {name:<7} web-{partition}: nothing to do in batch {batch_id}")
        for index, step in enumerate(steps):
            self._who = (name, tid, epoch, steps[index + 1 :])
            self._take(name, tid, step)
            self._did(name, _shown(step))
        self._open.pop(tid, None)  # a task that ends without a commit aborts
        self._who = None

    def _take(self, name: str, tid: str, step: Step) -> None:
        transaction = self._open.get(tid)
        match step:
            case ("row", str(row)):
                if transaction is None:
                    self.result.append(row)  # after the commit: for itself, and seen at once
                else:
                    transaction.rows.append(row)
            case ("mark", str(key), int(value)):
                if transaction is None:
                    self.marks[key] = value
                else:
                    transaction.marks[key] = value
            case ("commit",):
                if transaction is not None:
                    self.result += transaction.rows
                    self.marks |= transaction.marks
                    del self._open[tid]

    def _did(self, name: str, what: str) -> None:
        """Count a step. Then kill the driver or let the zombie continue, if the plan says so."""
        self.trace.append(f"  {name:<7} {what}")
        self._steps += 1
        self._since_start += 1
        if not self._was_killed and self._steps == self._plan.kill_after:
            if self._who is not None:
                if self._plan.zombie_after is not None:
                    self._zombie = Zombie(*self._who)
                else:
                    self._open.pop(self._who[1], None)
            raise _Killed
        if self._was_killed and self._since_start == self._plan.zombie_after:
            self._zombie_goes_on()

    def _zombie_goes_on(self) -> None:
        zombie, self._zombie = self._zombie, None
        if zombie is None:
            return
        self.trace.append(f"! {zombie.name:<7} of before the kill goes on")
        for step in zombie.steps:
            if self._epochs[zombie.transactional_id] != zombie.epoch:
                self.trace.append(
                    f"! {zombie.name:<7} is fenced: {zombie.transactional_id!r} has another epoch"
                )
                return
            self._take(zombie.name, zombie.transactional_id, step)
            self.trace.append(f"! {zombie.name:<7} {_shown(step)}")

    @property
    def steps(self) -> int:
        """Return how many steps were done in all."""
        return self._steps

    @property
    def steps_since_start(self) -> int:
        """Return how many steps were done since the query was started again."""
        return self._since_start

    @property
    def left_a_zombie(self) -> bool:
        """Return whether a task survived the kill of its driver, and continued later."""
        return any(line.startswith("! ") for line in self.trace)

    def faults(self) -> tuple[list[str], list[str]]:
        """Return the rows that the result lacks, and the rows that it has twice or more often."""
        latest = self._later if self._was_killed else self._latest
        sent = [f"web-{p}@{one}" for p in range(PARTITIONS) for one in range(latest[p])]
        there = Counter(self.result)
        return [one for one in sent if not there[one]], [one for one in sent if there[one] > 1]


def worlds(
    make: Callable[[], Code], rows: Sequence[int], later: Sequence[int], *, zombies: bool
) -> Iterator[World]:
    """Yield a finished world for each step after which the driver can be killed. With `zombies`,
    also yield one for each later step at which the zombie can go on. Raises Refused.
    """
    kill_after = 0
    while True:
        kill_after += 1
        world = World(make(), Plan(kill_after, None), rows, later)
        world.run()
        if not any(line.startswith("✗") for line in world.trace):
            yield world  # it came to its end before: there are no more steps
            return
        yield world
        for zombie_after in range(1, world.steps_since_start + 1) if zombies else ():
            other = World(make(), Plan(kill_after, zombie_after), rows, later)
            other.run()
            if not other.left_a_zombie:
                break
            yield other


def _batch(answer: object) -> tuple[int, Sequence[int], Sequence[int]]:
    match answer:
        case (int(batch_id), tuple(start) | list(start), tuple(end) | list(end)) if len(
            start
        ) == len(end) == PARTITIONS and all(isinstance(one, int) for one in (*start, *end)):
            return batch_id, [int(str(one)) for one in start], [int(str(one)) for one in end]
    raise Refused(
        f"next_batch returned {answer!r}, not None or (batch_id, start, end) with {PARTITIONS}"
        " offsets each"
    )


def _steps(answer: object) -> list[Step]:
    if isinstance(answer, tuple | list):
        steps = [tuple(one) if isinstance(one, tuple | list) else (one,) for one in answer]
        for step in steps:
            match step:
                case ("row", str()) | ("mark", str(), int()) | ("commit",):
                    pass
                case _:
                    raise Refused(
                        f"steps returned {step!r}, which is none of ('row', row),"
                        " ('mark', key, number), ('commit',)"
                    )
        return steps
    raise Refused(f"steps returned {answer!r}, not a list of steps")


def _shown(step: Step) -> str:
    match step:
        case ("row", row):
            return f"writes {row}"
        case ("mark", key, value):
            return f"marks {key!r} = {value}"
    return "commits"


def _ranges(start: Sequence[int], end: Sequence[int]) -> str:
    return ", ".join(
        f"web-{p} {start[p]} to {end[p]}" for p in range(PARTITIONS) if start[p] != end[p]
    )
