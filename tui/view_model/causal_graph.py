"""The lanes of the time line, and the arrows between them, as a grid of characters.

One row a line of the log, one lane a process. An arrow leaves its cause to the right, runs down in
the gutter beside that lane, and turns to the lane of its effect:

    sup zk  b0
    ✕┐  ┊   ┊      broker 1 was killed
    ┊└─▶✕┐  ┊      its session expired
    ┊   ┊└─▶♛      a controller was elected

Arrows that cross share a cell: each cell is a set of the sides that it touches.
"""

from collections.abc import Sequence
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
"""The cause stands above the rows that are drawn."""


class GraphRow(NamedTuple):
    """One row: its lane, and where its cause stands. `cause` is a row's index, or ABOVE."""

    lane: int
    sign: str
    cause: int | None = None
    cause_lane: int = 0
    thread: int = 0
    """The number of the cause. It chooses the gutter, so that two arrows of a lane stay apart."""


class Cell(NamedTuple):
    """One character, and the lane whose colour it has; None for the dotted line of a life."""

    glyph: str
    lane: int | None


class _Grid:
    """The sides that each cell touches, and whose arrow it is."""

    def __init__(self, rows: int, columns: int) -> None:
        self.sides = [[0] * columns for _ in range(rows)]
        self.lanes: list[list[int | None]] = [[None] * columns for _ in range(rows)]
        self.heads: dict[tuple[int, int], str] = {}

    def touch(self, row: int, column: int, sides: int, lane: int) -> None:
        self.sides[row][column] |= sides
        self.lanes[row][column] = lane

    def across(self, row: int, columns: range, lane: int) -> None:
        for column in columns:
            self.touch(row, column, LEFT | RIGHT, lane)


def graph(rows: Sequence[GraphRow], lanes: int, width: int) -> list[list[Cell]]:
    """Draw the rows. A lane is `width` ≥ 3 columns wide: the sign, its gutters, a blank. O(cells,
    and the length of the arrows).
    """
    grid = _Grid(len(rows), lanes * width)
    for at, row in enumerate(rows):
        if row.cause is None:
            continue
        if row.cause_lane == row.lane:
            _straight(grid, rows, at, row.cause, row.lane, width)
        else:
            _arrow(grid, at, row, width)
    return [
        [_cell(grid, at, column, row, width) for column in range(lanes * width)]
        for at, row in enumerate(rows)
    ]


def _straight(
    grid: _Grid, rows: Sequence[GraphRow], at: int, cause: int, lane: int, width: int
) -> None:
    """Connect cause and effect of one lane, unless another fact of that lane stands between."""
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


def _cell(grid: _Grid, at: int, column: int, row: GraphRow, width: int) -> Cell:
    if column == row.lane * width:
        return Cell(row.sign, row.lane)
    lane = grid.lanes[at][column]
    if (head := grid.heads.get((at, column))) is not None:
        return Cell(head, lane)
    sides = grid.sides[at][column]
    if not sides and column % width == 0:
        return Cell(ALIVE, None)
    return Cell(_LINES[sides], lane)
