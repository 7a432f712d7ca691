"""Figures of timing wheels, drawn from the events that a timer tells of itself: in the terminal,
and as Graphviz DOT (图 6-7, 6-8).
"""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from kafka_edu.common.words import plural
from kafka_edu.trace.events.timer import WheelState

from ..drawing import quoted


def span(ms: int) -> str:
    """A length of time, short: 20 ms, 8 s, 2.7 min, 1 h."""
    for unit, name in ((3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if ms >= unit:
            return f"{ms / unit:.3g} {name}"
    return f"{ms} ms"


def due_ms(wheel: WheelState, slot: int) -> int:
    """When the bucket in that slot is due."""
    hand = wheel.current_time_ms // wheel.tick_ms
    return (hand + (slot - hand) % wheel.wheel_size) * wheel.tick_ms


def hand(wheel: WheelState) -> int:
    """The slot that the hand is on."""
    return wheel.current_time_ms // wheel.tick_ms % wheel.wheel_size


def draw(wheels: Sequence[WheelState], title: str = "") -> Table:
    """One row a level, one cell a bucket: how many tasks are in it; the hand's bucket stands out.
    Fits into 80 columns.
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


def dot(wheels: Sequence[WheelState], title: str) -> str:
    """DOT source: each wheel a row of buckets, the hand's bucket grey, filled ones with their tasks
    and their time; arrows lead down, where tasks go.
    """
    lines = [
        "digraph wheels {",
        f"  label={quoted(title)}; labelloc=t; rankdir=TB; nodesep=0.3; ranksep=0.5;",
        (
            '  node [shape=plaintext, fontname="Helvetica"]; edge [color="#888888",'
            ' fontname="Helvetica", fontsize=10];'
        ),
    ]
    for wheel in reversed(wheels):
        cells = "".join(_cell(wheel, slot, count) for slot, count in enumerate(wheel.tasks_by_slot))
        reach = (
            f"level {wheel.level}: {span(wheel.tick_ms)} x {wheel.wheel_size} ="
            f" {span(wheel.tick_ms * wheel.wheel_size)}"
        )
        table = (
            '<table border="0" cellborder="1" cellspacing="0"><tr><td'
            f' border="0">{reach}</td>{cells}</tr></table>'
        )
        lines.append(f"  w{wheel.level} [label=<{table}>];")
    for above in wheels[1:]:
        for slot, count in enumerate(above.tasks_by_slot):
            if count:
                lines.append(
                    f'  w{above.level}:s{slot} -> w{above.level - 1} [label="{count} at'
                    f' {due_ms(above, slot):,} ms"];'
                )
    if len(wheels) > 1:
        lines.append(
            "  " + " -> ".join(f"w{wheel.level}" for wheel in reversed(wheels)) + " [style=invis];"
        )
    return "\n".join([*lines, "}"]) + "\n"


def _cell(wheel: WheelState, slot: int, count: int) -> str:
    colour = "#ffd166" if count else "#dddddd" if slot == hand(wheel) else "#ffffff"
    text = f"{slot}<br/><b>{count}</b>" if count else str(slot)
    return f'<td port="s{slot}" bgcolor="{colour}">{text}</td>'
