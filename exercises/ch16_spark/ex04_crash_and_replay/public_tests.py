"""Public tests of exercise 16-4. Run them with `kafka-edu lab check 16-4`. The learner's class runs
in another process, and the fixture `learner` calls it there.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch, Words
from ..replay import Refused, World, worlds

TRACE_LINES: Final = 22
ROUNDS: Final = 4


class Asked:
    """Passes the calls of a simulated query on to the learner's class."""

    def __init__(self, made: LearnerObject) -> None:
        self._made = made

    def next_batch(
        self,
        planned: Sequence[tuple[int, Sequence[int]]],
        committed: Sequence[int],
        latest: Sequence[int],
    ) -> object:
        return self._made.call("next_batch", planned, committed, latest)

    def transactional_id(self, task: int, partition: int) -> object:
        return self._made.call("transactional_id", task, partition)

    def steps(
        self,
        batch_id: int,
        task: int,
        partition: int,
        rows: Sequence[str],
        marks: dict[str, int],
    ) -> object:
        return self._made.call("steps", batch_id, task, partition, rows, marks)


class Checked:
    """Kills a query with the learner's code, after each of its steps, and checks the result."""

    def __init__(self, learner: Learner) -> None:
        self.code = Asked(learner.make())
        self._learner = learner

    def plans(
        self,
        planned: Sequence[tuple[int, Sequence[int]]],
        committed: Sequence[int],
        latest: Sequence[int],
        expected: tuple[int, list[int], list[int]] | None,
        why: str,
    ) -> None:
        """Raise Mismatch unless the learner's `next_batch` returns `expected`."""
        came = self.code.next_batch(planned, committed, latest)
        wanted = expected and (expected[0], tuple(expected[1]), tuple(expected[2]))
        if came != wanted:
            asked = f"next_batch({list(planned)}, {list(committed)}, {list(latest)})"
            shown = came
            if isinstance(came, tuple):
                shown = tuple(list(one) if isinstance(one, tuple) else one for one in came)
            raise Mismatch(asked, expected, shown, why, read="next_batch")

    def survives(self, rows: Sequence[int], later: Sequence[int], *, zombies: bool) -> None:
        """Kill the query after every step. Raise Mismatch if a row is lost or duplicated."""
        try:
            for world in worlds(lambda: self.code, rows, later, zombies=zombies):
                self.judge(world)
        except Refused as refused:
            raise AssertionError(str(refused)) from None

    def judge(self, world: World) -> None:
        """Raise Mismatch if a row is lost or duplicated. The message shows no line of the
        learner's code, because many answers together have caused the fault.
        """
        self._learner.answered_at = 0
        _judge(world)


def _judge(world: World) -> None:
    lost, doubled = world.faults()
    if not lost and not doubled:
        return
    kill = next((line for line in world.trace if line.startswith("✗")), "without a kill")
    at = world.trace.index(kill) if kill in world.trace else 0
    before = world.trace[at - 1].strip() if at else ""
    asked = f"a query that is killed after: {before}" if before else "a query that is not killed"
    if world.left_a_zombie:
        asked += ". The task that was left behind goes on later"
    came = [f"{row} is lost" for row in lost[:2]]
    came += [f"{row} is there {world.result.count(row)} times" for row in doubled[:2]]
    raise Mismatch(
        asked,
        Words("each row once"),
        Words(", ".join(came)),
        _why(world, lost, doubled),
        drawing=_drawn(world.trace),
        read="transactional_id" if world.left_a_zombie else "steps and next_batch",
    )


def _why(world: World, lost: list[str], doubled: list[str]) -> str:
    if world.left_a_zombie and doubled:
        return (
            "the task of before the kill committed after its rows had been written again. A begin"
            " with the same transactional id would have fenced it"
        )
    if not any(line.startswith("✗") for line in world.trace):
        return "this goes wrong without any kill"
    if lost:
        return (
            "a task found a mark and left its rows out, but the rows behind that mark were others:"
            " a mark must name the partition and the batch, and a batch must come again with the"
            " same rows"
        )
    ids = [batch_id for batch_id, _ in world.planned]
    if len(world.marks) == 0:
        return "the batch was repeated, and no mark shows the task that its rows are written"
    return (
        f"the rows were committed before the kill and written again in one of the batches {ids}."
        " Rows and mark must become visible together, and the task must find the mark again"
    )


def _drawn(trace: list[str]) -> tuple[str, ...]:
    shown = trace
    if len(trace) > TRACE_LINES:
        kill = next((i for i, line in enumerate(trace) if line.startswith("✗")), 0)
        begin = max(0, min(kill - 6, len(trace) - TRACE_LINES))
        shown = trace[begin : begin + TRACE_LINES]
        shown = (["  …"] if begin else []) + shown
        shown += ["  …"] if begin + TRACE_LINES < len(trace) else []
    return tuple(f"    {line}" for line in shown)


@pytest.fixture
def checked(learner: Learner) -> Checked:
    """The learner's ExactlyOnce, with checks of its plans and of the result."""
    return Checked(learner)


def test_first_plan(checked: Checked) -> None:
    """the first batch begins at offset 0"""
    checked.plans((), (), (2, 1), (0, [0, 0], [2, 1]), "nothing was planned before")


def test_next_plan(checked: Checked) -> None:
    """a batch begins where the batch before it ended"""
    why = "batch 0 is in the commit log, so batch 1 goes from its end to the latest offsets"
    checked.plans([(0, (2, 1))], [0], (5, 1), (1, [2, 1], [5, 1]), why)


def test_nothing_new(checked: Checked) -> None:
    """without new rows there is no batch"""
    checked.plans((), (), (0, 0), None, "the topic is empty")
    why = "all that was planned is committed, and the topic ends there"
    checked.plans([(0, (2, 1)), (1, (5, 1))], [0, 1], (5, 1), None, why)


def test_plan_again(checked: Checked) -> None:
    """a batch that is not in the commit log comes again, with the same id and the same rows"""
    why = (
        "batch 1 is planned and not in the commit log: some of its tasks may have committed. It"
        " comes again as it was planned, although the topic has more rows now"
    )
    planned = [(0, (2, 1)), (1, (3, 4))]
    checked.plans(planned, [0], (7, 9), (1, [2, 1], [3, 4]), why)
    checked.plans([(0, (2, 1))], [], (7, 9), (0, [0, 0], [2, 1]), why.replace("batch 1", "batch 0"))


def test_no_kill(checked: Checked) -> None:
    """without a kill, every row is in the result once"""
    try:
        *_, last = worlds(lambda: checked.code, (2, 1), (2, 1), zombies=False)
    except Refused as refused:
        raise AssertionError(str(refused)) from None
    checked.judge(last)


def test_every_kill(checked: Checked) -> None:
    """the query is killed after every step; no more rows come"""
    checked.survives((2, 1), (2, 1), zombies=False)


def test_more_rows(checked: Checked) -> None:
    """the query is killed after every step; more rows come before its new start"""
    checked.survives((2, 1), (3, 2), zombies=False)


def test_zombies(checked: Checked) -> None:
    """the query is killed after every step, and its zombie continues at every later step"""
    checked.survives((2, 1), (3, 2), zombies=True)


def test_many(checked: Checked, seed: int) -> None:
    """random numbers of rows, sometimes none in a partition"""
    random = Random(seed)
    for _ in range(ROUNDS):
        rows = random.randrange(0, 4), random.randrange(0, 4)
        later = rows[0] + random.randrange(0, 3), rows[1] + random.randrange(0, 3)
        checked.survives(rows, later, zombies=random.random() < 0.5)
