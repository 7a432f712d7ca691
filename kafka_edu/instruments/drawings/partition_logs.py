"""Draw the logs of a partition's replicas: the committed part, and the marks LSO, HW and LEO."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import graphviz

from .figure import BLUE, GREEN, YELLOW, caption, cell, new_figure, table

ONE_BY_ONE: Final = 12
"""Up to this number of offsets, each offset has a cell of its own."""
WIDE: Final = 2
"""Up to this number of ranges, a cell shows a range's first and last offset on one line."""
UNKNOWN: Final = -1


class ReplicaLog(NamedTuple):
    """The log of one replica. An offset that is not known is UNKNOWN."""

    who: str
    high_watermark: int
    log_end: int
    log_start: int = 0
    last_stable: int = UNKNOWN
    """The last stable offset. Consumers with read_committed read only below it."""


class LogsAt(NamedTuple):
    """The logs of a partition's replicas at one moment."""

    caption: str
    """The moment in words. Empty if the figure shows only one moment."""
    logs: Sequence[ReplicaLog]


def logs_figure(title: str, moments: Sequence[LogsAt]) -> graphviz.Digraph:
    """Draw the logs at each of the moments, one drawing below another.

    Each replica is a row. Each cell is an offset or a range of offsets.
    """
    legend = [(BLUE, "below the HW"), (YELLOW, "not yet")]
    if any(_stable(log) < log.high_watermark for at in moments for log in at.logs):
        legend.insert(1, (GREEN, "above the LSO"))
    figure = new_figure("logs", title, legend, rankdir="TB", ranksep="0.2")
    figure.attr("node", shape="plaintext")
    for number, at in enumerate(moments):
        ranges = _ranges(at.logs)
        rows = [caption(at.caption, len(ranges) + 2)] if at.caption else []
        rows += [_row(log, ranges) for log in at.logs]
        figure.node(f"logs{number}", label=table(rows))
    for before, after in pairwise(range(len(moments))):
        figure.edge(f"logs{before}", f"logs{after}")
    return figure


def _stable(log: ReplicaLog) -> int:
    return log.high_watermark if log.last_stable == UNKNOWN else log.last_stable


def _ranges(logs: Sequence[ReplicaLog]) -> list[tuple[int, int]]:
    """Return the columns as pairs: first offset, end offset (not included).

    All replicas use the same columns, so that their cells align.
    """
    known = [log for log in logs if log.log_end >= 0]
    if not known:
        return []
    first, end = min(max(log.log_start, 0) for log in known), max(log.log_end for log in known)
    if end - first <= ONE_BY_ONE:
        return [(offset, offset + 1) for offset in range(first, end)]
    marks = {first, end}
    for log in known:
        marks |= {log.log_start, _stable(log), log.high_watermark, log.log_end}
    return list(pairwise(sorted(mark for mark in marks if first <= mark <= end)))


def _row(log: ReplicaLog, ranges: Sequence[tuple[int, int]]) -> str:
    return cell(log.who, plain=True) + "".join(_cells(log, ranges)) + cell(_marks(log), plain=True)


def _cells(log: ReplicaLog, ranges: Sequence[tuple[int, int]]) -> Iterator[str]:
    for first, end in ranges:
        if not log.log_start <= first < log.log_end:
            yield '<td border="0"></td>'
            continue
        between = " … " if len(ranges) <= WIDE else "\n… "
        text = f"{first:,}" if end == first + 1 else f"{first:,}{between}{end - 1:,}"
        colour = BLUE if first < _stable(log) else GREEN if first < log.high_watermark else YELLOW
        yield cell(text, colour)


def _marks(log: ReplicaLog) -> str:
    if log.log_end < 0:
        return "not known"
    marks = [f"HW {log.high_watermark:,}" if log.high_watermark >= 0 else "HW ?"]
    if log.last_stable not in (UNKNOWN, log.high_watermark):
        marks.insert(0, f"LSO {log.last_stable:,}")
    return ", ".join([*marks, f"LEO {log.log_end:,}"])
