"""The lanes of the time line, and the arrows between them, as a grid of characters.

Each line of the log is one row, and each process is one lane. An arrow leaves its cause to the
right, runs down in the gutter next to this lane, and turns to the lane of its effect:

    sup zk  b0
    ✕┐  ┊   ┊      broker 1 was killed
    ┊└─▶✕┐  ┊      its session expired
    ┊   ┊└─▶♛      a controller was elected

Arrows that cross share a cell. A cell stores which of its sides an arrow touches.
"""

from collections.abc import Sequence
from functools import cache
from itertools import groupby
from typing import Final, NamedTuple

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
_LINES: Final = {
    0: " ", UP: "│", DOWN: "│", UP | DOWN: "│", LEFT: "─", RIGHT: "─", LEFT | RIGHT: "─",
    UP | RIGHT: "└", UP | LEFT: "┘", DOWN | RIGHT: "┌", DOWN | LEFT: "┐",
    UP | DOWN | RIGHT: "├", UP | DOWN | LEFT: "┤", LEFT | RIGHT | DOWN: "┬",
    LEFT | RIGHT | UP: "┴", UP | DOWN | LEFT | RIGHT: "┼",
}  # fmt: skip
TO_RIGHT, TO_LEFT, ALIVE = "▶", "◀", "┊"
ABOVE: Final = -1
"""The value of `cause` for a cause that is above the drawn rows."""


class GraphRow(NamedTuple):
    """One row: its lane, and the row of its cause. `cause` is a row's index, or ABOVE."""

    lane: int
    sign: str
    cause: int | None = None
    cause_lane: int = 0
    thread: int = 0
    """The number of the cause. It decides which gutter the arrow uses, so that two arrows of one
    lane are separate.
    """


class Run(NamedTuple):
    """Characters of one row that have the same style."""

    glyphs: str
    lane: int | None
    """The lane whose colour the characters have. None for blanks and the dotted line of a
    process.
    """
    at_home: bool = False
    """Whether the characters are in the column of their own lane, as a sign is."""


class _Grid:
    """For each row: the columns that an arrow touches, on which sides, and the arrow's lane."""

    def __init__(self, rows: int) -> None:
        self.touched: list[dict[int, tuple[int, int]]] = [{} for _ in range(rows)]
        """For each row: column → (sides, lane)."""
        self.heads: dict[tuple[int, int], str] = {}

    def touch(self, row: int, column: int, sides: int, lane: int) -> None:
        touched = self.touched[row]
        before, _ = touched.get(column, (0, lane))
        touched[column] = before | sides, lane

    def across(self, row: int, columns: range, lane: int) -> None:
        for column in columns:
            self.touch(row, column, LEFT | RIGHT, lane)


def graph(
    rows: Sequence[GraphRow], lanes: int, width: int, shown: int | None = None
) -> list[list[Run]]:
    """Draw the rows, or only the first `shown` rows. From the other rows, only the arrows are
    drawn.

    A lane has `width` columns, at least 3: the sign, the gutters for arrows, and a blank. O(rows ×
    lanes, and the length of the arrows).
    """
    grid = _Grid(len(rows))
    for at, row in enumerate(rows):
        if row.cause is None:
            continue
        if row.cause_lane == row.lane:
            _straight(grid, rows, at, row.cause, row.lane, width)
        else:
            _arrow(grid, at, row, width)
    lives = (ALIVE + " " * (width - 1)) * lanes
    return [_runs(grid, at, row, lives, width) for at, row in enumerate(rows[:shown])]


def _straight(
    grid: _Grid, rows: Sequence[GraphRow], at: int, cause: int, lane: int, width: int
) -> None:
    """Connect cause and effect in the same lane, if no other fact of the lane is between them."""
    between = range(cause + 1, at)
    if all(rows[i].lane != lane for i in between):
        for i in between:
            grid.touch(i, lane * width, UP | DOWN, lane)


def _arrow(grid: _Grid, at: int, row: GraphRow, width: int) -> None:
    assert row.cause is not None
    start, lane = row.cause_lane * width, row.cause_lane
    gutter = start + 1 + row.thread % max(width - 2, 1)
    if row.cause != ABOVE:
        grid.across(row.cause, range(start + 1, gutter), lane)
        grid.touch(row.cause, gutter, LEFT | DOWN, lane)
    for i in range(row.cause + 1, at):
        grid.touch(i, gutter, UP | DOWN, lane)
    target = row.lane * width
    if row.lane > row.cause_lane:
        grid.touch(at, gutter, UP | RIGHT, lane)
        grid.across(at, range(gutter + 1, target), lane)
        grid.heads[at, target - 1] = TO_RIGHT
    else:
        grid.touch(at, gutter, UP | LEFT, lane)
        grid.across(at, range(target + 1, gutter), lane)
        grid.heads[at, target + 1] = TO_LEFT


def _runs(grid: _Grid, at: int, row: GraphRow, lives: str, width: int) -> list[Run]:
    """Return one row as runs: the lines of `lives`, and above them the sign and the arrows."""
    touched, sign = grid.touched[at], row.lane * width
    runs: list[Run] = []
    drawn = 0
    for column in sorted({*touched, sign}):
        runs += _between(lives[drawn:column])
        drawn = column + 1
        if column == sign:
            runs.append(Run(row.sign, row.lane, at_home=True))
            continue
        sides, lane = touched[column]
        run = Run(grid.heads.get((at, column)) or _LINES[sides], lane, column == lane * width)
        if runs and runs[-1][1:] == run[1:]:
            run = run._replace(glyphs=runs.pop().glyphs + run.glyphs)
        runs.append(run)
    runs += _between(lives[drawn:])
    return runs


@cache
def _between(lives: str) -> tuple[Run, ...]:
    """Return a piece of a row that no arrow touches."""
    return tuple(Run("".join(same), None) for _, same in groupby(lives))
