"""The events for exercise 02-4, from a run of the wrong starter. Each learner gets different
tasks.
"""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..moves import Course, Move
from .starter import Timer

SLOTS: Final = (20,)
TASKS: Final = 14


class Line(NamedTuple):
    """One event of the run. `move` is None when a task is added."""

    time_ms: int
    task: int
    deadline_ms: int
    text: str
    move: Move | None


class Found(NamedTuple):
    """The right answers of the exercise."""

    number: int
    """The number of the first wrong event, counted from 1."""
    late_ms: int


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    lines, _ = run(seed)
    shown = [
        f"{number:>3}  {line.time_ms:>5} ms  task {line.task:<2}  deadline"
        f" {line.deadline_ms:>5} ms  {line.text}"
        for number, line in enumerate(lines, 1)
    ]
    return {"events.txt": "\n".join(shown) + "\n"}


def run(seed: int) -> tuple[list[Line], Found]:
    """Return the events of a random run, and the right answers about them.

    The search for a run ends when exactly one round of the wheel passes between the deadline of the
    late task and the time at which it runs.
    """
    for number in count():
        lines, found = run_once(Random(f"{seed}/{number}"))
        if found.late_ms == SLOTS[0]:
            return lines, found
    raise AssertionError("count() has no end")


def run_once(random: Random) -> tuple[list[Line], Found]:
    """Run the starter once with random tasks. Return the events and the right answers."""
    timer, right = Timer(1, SLOTS, 0), Course(1, SLOTS, 0)
    # One task comes from level 2 and one from level 1, and both are due at the same edge.
    edge_ms = 20 * random.randint(9, 18)
    deadlines = {1: edge_ms, 2: edge_ms}
    added_ms = {1: edge_ms - random.randint(45, 150), 2: edge_ms - random.randint(3, 17)}
    for task in range(3, TASKS + 1):
        added_ms[task] = random.randrange(edge_ms + 60)
        deadlines[task] = added_ms[task] + random.randint(2, 300)
        if deadlines[task] % 20 == 0:
            deadlines[task] += 7
    lines: list[Line] = []
    expected: set[Move] = set()
    for now_ms in range(edge_ms + 500):
        for move in timer.advance_clock(now_ms):
            time_ms, task, place = move
            text = "runs" if place is None else f"comes down to level {place[0]}, slot {place[1]}"
            lines.append(Line(time_ms, task, deadlines[task], text, move))
        expected.update(right.advance_clock(now_ms))
        for task in sorted(added_ms, key=lambda one: added_ms[one]):
            if added_ms[task] == now_ms:
                place = timer.add(task, deadlines[task])
                right.add(task, deadlines[task])
                assert place is not None
                text = f"is added to level {place[0]}, slot {place[1]}"
                lines.append(Line(now_ms, task, deadlines[task], text, None))
    number, wrong = next(
        (number, line)
        for number, line in enumerate(lines, 1)
        if line.move is not None and line.move not in expected
    )
    return lines, Found(number, wrong.time_ms - wrong.deadline_ms)
