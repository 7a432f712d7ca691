"""Compute the right moves of each task as a timer's clock continues, and show moves as text."""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from .places import Wheels

Place = tuple[int, int]
"""A level from 1 and a slot from 0."""
Move = tuple[int, int, Place | None]
"""The time in ms, the task, and the place it goes to. The place is None if the task runs."""


class Course:
    """A correct timer, which has no buckets: it computes a task's next move when the task is
    placed.

    If several moves have the same time, the moves from a higher level come first. Tasks from one
    bucket move in the order in which they were put into it.
    """

    def __init__(self, tick_ms: int, slots: tuple[int, ...], start_ms: int) -> None:
        self.wheels = Wheels(tick_ms, slots, start_ms)
        self._waiting: list[tuple[int, int, int, int, int]] = []
        """A heap of the next moves: (due_ms, -level, order of adding, task, deadline_ms)."""
        self._order = 0
        self._order_of: dict[int, int] = {}
        self.places: dict[int, Place] = {}
        """The level and slot where each task waits."""

    def add(self, task: int, deadline_ms: int) -> Place | None:
        """Put a task into its bucket. Return the bucket's place, or None if the task is due
        already.
        """
        place = self.wheels.place(deadline_ms)
        if place is None:
            self.places.pop(task, None)
            return None
        self._order += 1
        self.places.pop(task, None)  # a dict keeps the order in which its keys came
        due_ms = deadline_ms - place.left_over_ms
        heappush(self._waiting, (due_ms, -place.level, self._order, task, deadline_ms))
        self.places[task] = place.level, place.slot
        self._order_of[task] = self._order
        return self.places[task]

    def cancel(self, task: int) -> Place | None:
        """Remove a task. Return the place where it was, or None if it does not wait."""
        self._order_of.pop(task, None)
        return self.places.pop(task, None)

    def tasks_in(self, place: Place) -> list[int]:
        """Return the tasks of a bucket, in the order in which they were put into it."""
        return [task for task, where in self.places.items() if where == place]

    def advance_clock(self, time_ms: int) -> list[Move]:
        """Let the clock go on to `time_ms`, and return all moves in their order."""
        moves: list[Move] = []
        while self._waiting and self._waiting[0][0] <= time_ms:
            due_ms, _, order, task, deadline_ms = heappop(self._waiting)
            if self._order_of.get(task) == order:  # or else it was cancelled
                self.wheels = self.wheels._replace(now_ms=due_ms)
                moves.append((due_ms, task, self.add(task, deadline_ms)))
        self.wheels = self.wheels._replace(now_ms=time_ms)
        return moves


def shown(move: object) -> str:
    """Return a move as a text."""
    match move:
        case (int(time_ms), int(task), None):
            return f"{time_ms:,} ms: task {task} runs"
        case (int(time_ms), int(task), (int(level), int(slot))):
            return f"{time_ms:,} ms: task {task} comes down to level {level}, slot {slot}"
    return repr(move)


def side_by_side(expected: Sequence[Move], came: Iterable[object]) -> tuple[str, ...]:
    """Return lines that show two lists of moves side by side, near the first difference."""
    left, right = [shown(move) for move in expected], [shown(move) for move in came]
    same = next(
        (index for index, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]),
        min(len(left), len(right)),
    )
    begin = max(0, same - 2)
    left, right = left[begin : same + 4], right[begin : same + 4]
    rows = max(len(left), len(right))
    left += ["(nothing)"] * (rows - len(left))
    right += ["(nothing)"] * (rows - len(right))
    width = max((len(text) for text in left), default=0)
    lines = [f"    {'expected':<{width}}   came"]
    for one, other in zip(left, right, strict=True):
        lines.append(f"  {' ' if one == other else '✗'} {one:<{width}}   {other}")
    return tuple(lines)
