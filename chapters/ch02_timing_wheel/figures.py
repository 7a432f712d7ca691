"""Figures of timing wheels, drawn in the terminal and with Graphviz (图 6-7, 6-8).

They are drawn from the events that a timer emits.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.common.words import plural
from kafka_edu.instruments.drawings.figure import WHITE, YELLOW, new_figure, table
from kafka_edu.trace.events.timer import TimerTaskDemoted, WheelState


def span(ms: int) -> str:
    """Return a length of time in short form: 20 ms, 8 s, 2.7 min, 1 h."""
    for unit, name in ((3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if ms >= unit:
            return f"{ms / unit:.3g} {name}"
    return f"{ms} ms"


def due_ms(wheel: WheelState, slot: int) -> int:
    """Return the time in ms at which the bucket in this slot is due."""
    hand = wheel.current_time_ms // wheel.tick_ms
    return (hand + (slot - hand) % wheel.wheel_size) * wheel.tick_ms


def hand(wheel: WheelState) -> int:
    """Return the number of the slot that the wheel's hand is on."""
    return wheel.current_time_ms // wheel.tick_ms % wheel.wheel_size


def draw(wheels: Sequence[WheelState], title: str = "") -> Table:
    """Draw the wheels as a table: one row for each level, one cell for each bucket.

    A cell shows how many tasks are in the bucket. The bucket of the current time is highlighted.
    The table fits into 80 columns.
    """
    table = Table(
        title=title or None,
        title_justify="left",
        show_lines=False,
        pad_edge=False,
        padding=(0, 0),
        box=None,
    )
    table.add_column("", no_wrap=True)
    for slot in range(max((wheel.wheel_size for wheel in wheels), default=0)):
        table.add_column(
            f"{slot:>2}" if slot % 5 == 0 else "",
            justify="right",
            header_style="dim",
            min_width=2,
            no_wrap=True,
        )
    table.add_column("", no_wrap=True)
    for wheel in wheels:
        cells = []
        for slot, count in enumerate(wheel.tasks_by_slot):
            style = ("reverse " if slot == hand(wheel) else "") + (
                "bold yellow" if count else "dim"
            )
            cells.append(Text(f"{count:>2}" if count else " ·", style=style))
        label = f"level {wheel.level} · {span(wheel.tick_ms)} x {wheel.wheel_size} "
        table.add_row(
            label, *cells, f" {plural(sum(wheel.tasks_by_slot), 'task')}, hand {hand(wheel)}"
        )
    return table


def wheels_figure(
    wheels: Sequence[WheelState], title: str, moves: Sequence[tuple[int, TimerTaskDemoted]] = ()
) -> graphviz.Digraph:
    """Draw each wheel as a row of buckets. A filled bucket shows the number of its tasks.

    A `…` stands for the empty buckets between the first and the last one. `moves` are the next
    moves of the tasks, each with its time in ms. For each move an arrow leads from the task's
    bucket to its next bucket.
    """
    ends = {(move.from_level, move.from_slot) for _, move in moves}
    ends |= {(move.level, move.slot) for _, move in moves}
    legend = [(_HAND, "the hand"), (_FILLED, "number of tasks")]
    figure = new_figure("wheels", title, legend, splines="line", ranksep="0.6")
    figure.attr("node", shape="plaintext")
    for wheel in reversed(wheels):
        shown = {slot for level, slot in ends if level == wheel.level}
        shown |= {0, hand(wheel), wheel.wheel_size - 1}
        shown |= {slot for slot, count in enumerate(wheel.tasks_by_slot) if count}
        cells = "".join(_cells(wheel, shown))
        reach = (
            f"level {wheel.level}<br/>{span(wheel.tick_ms)} x {wheel.wheel_size}"
            f"<br/>= {span(wheel.tick_ms * wheel.wheel_size)}"
        )
        row = f'<td border="0" width="92">{reach}</td>{cells}'
        figure.node(f"w{wheel.level}", label=table([row]))
    arrows = Counter(
        (at_ms, move.from_level, move.from_slot, move.level, move.slot) for at_ms, move in moves
    )
    for (at_ms, from_level, from_slot, level, slot), count in arrows.items():
        figure.edge(
            f"w{from_level}:s{from_slot}:s",
            f"w{level}:s{slot}:n",
            label=f" {plural(count, 'task')} at {at_ms:,} ms  ",
        )
    for below, above in pairwise(wheels):
        figure.edge(f"w{above.level}", f"w{below.level}", style="invis")
    return figure


_HAND: Final = "#dddddd"
_FILLED: Final = YELLOW


def _cells(wheel: WheelState, shown: Collection[int]) -> Iterator[str]:
    """Yield the table cells of the shown slots and of their neighbours.

    Each run of other slots becomes one cell with a `…`.
    """
    near = {slot + step for slot in shown for step in (-1, 0, 1)}
    left_out = False
    for slot, count in enumerate(wheel.tasks_by_slot):
        if slot not in near:
            if not left_out:
                yield '<td width="26">…</td>'
            left_out = True
            continue
        left_out = False
        colour = _FILLED if count else _HAND if slot == hand(wheel) else WHITE
        text = f"{slot}<br/><b>{count}</b>" if count else str(slot)
        yield f'<td port="s{slot}" width="26" bgcolor="{colour}">{text}</td>'
