"""The pictures of chapter 16: the plans of the source's own planner, and tables.

The plans follow the rules of `source_planning`. The watermark follows the rules of exercise 16-2,
for a query that has more records to read. Tests compare them with Spark.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.instruments.drawings.figure import BLUE, RED, YELLOW, new_figure, table, wrapped
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.protocol.api_keys import ApiKey

from ..drawing import picture
from .plan import (
    DELAY_MINUTES,
    FILLED,
    MOST_PLANNED,
    MOST_VISITS,
    SOURCE,
    VISITS,
    WINDOW_MINUTES,
    planned,
)

_DONE, _NEW, _BAD = BLUE, YELLOW, RED

#: The last batch whose files are shown in the picture of the checkpoint.
_SHOWN: Final = 2


class Shares(NamedTuple):
    """Start and end offset of one micro-batch in each partition."""

    ranges: tuple[tuple[int, int], ...]

    @property
    def records(self) -> int:
        return sum(end - start for start, end in self.ranges)


def shares() -> list[Shares]:
    """Return the micro-batches of the job `plan`, as the source's own planner makes them."""
    found, at = [], (0,) * len(FILLED)
    for offset in planned(MOST_PLANNED):
        ends = tuple(offset.offsets[tp] for tp in sorted(offset.offsets))
        found.append(Shares(tuple(zip(at, ends, strict=True))))
        at = ends
    return found


class Visit(NamedTuple):
    """One visit, and whether it was dropped as late."""

    batch: int
    time_s: int
    late_s: int | None
    """The watermark, in seconds.

    A visit is dropped if its window ends at or before it. None: no watermark.
    """

    @property
    def window_s(self) -> int:
        return self.time_s - self.time_s % (60 * WINDOW_MINUTES)

    @property
    def dropped(self) -> bool:
        return self.late_s is not None and self.window_s + 60 * WINDOW_MINUTES <= self.late_s


def visits() -> list[Visit]:
    """Return each visit of the job `late`, with the watermark that decides whether it is dropped.

    Each batch drops late visits. It uses the watermark with which the previous batch began.
    """
    found: list[Visit] = []
    latest = 0
    marks: list[int | None] = [None, None]  # watermarks of the batch before and of this batch
    for batch in range(len(VISITS) // MOST_VISITS):
        times = [_seconds(one) for one in VISITS[batch * MOST_VISITS :][:MOST_VISITS]]
        found += [Visit(batch, time, marks[0]) for time in times]
        latest = max(latest, *times)
        marks = [marks[1], latest - 60 * DELAY_MINUTES]
    return found


def _seconds(clock: str) -> int:
    hours, minutes, seconds = map(int, clock.split(":"))
    return (hours * 60 + minutes) * 60 + seconds


def _clock(seconds: int | None) -> str:
    if seconds is None:
        return "none"
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _plan() -> Picture:
    """Show which offsets each micro-batch reads."""
    table = Table("", *(f"{SOURCE}-{p}" for p in range(len(FILLED))), "together", box=None)
    table.add_row("has", *map(str, FILLED), str(sum(FILLED)))
    for batch, each in enumerate(shares()):
        cells = [
            f"{start}…{end} ({end - start})" if end > start else "" for start, end in each.ranges
        ]
        table.add_row(f"batch {batch}", *cells, str(each.records))
    return picture({"planned_batches": len(shares())}, table)


def _checkpoint() -> Picture:
    """Show the files of the checkpoint after a driver has died in batch 2."""
    text = Text("checkpoint/\n")
    for number, offset in enumerate(planned(MOST_PLANNED)):
        if number > _SHOWN:
            break
        text.append(f"  offsets/{number}   {json.dumps(offset.to_json()[SOURCE])}\n")
    for number in range(_SHOWN):
        text.append(f"  commits/{number}\n")
    text.append(f"  commits/{_SHOWN}   is not there: the driver died before", style="bold yellow")
    return picture({"unfinished": _SHOWN}, text)


#: The requests of a job that reads: the request, its sender, and the question that it asks.
ASKED: Final = (
    (ApiKey.API_VERSIONS, "driver, tasks", "which versions do you speak?"),
    (ApiKey.METADATA, "driver, tasks", "which broker leads which partition?"),
    (ApiKey.LIST_OFFSETS, "driver", "where does each partition begin and end?"),
    (ApiKey.FETCH, "tasks", "give me the records from this offset on"),
)
#: The requests that a member of a consumer group sends, but a reading job never does.
NOT_ASKED: Final = (
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.OFFSET_COMMIT,
)

#: The requests of one slot in one micro-batch (`slot_transaction`).
SLOT: Final = (
    (ApiKey.INIT_PRODUCER_ID, "end what an earlier task left open, and fence that task"),
    (ApiKey.OFFSET_FETCH, "the slot's number: is this batch committed already?"),
    (ApiKey.ADD_PARTITIONS_TO_TXN, "the partitions that the rows go to"),
    (ApiKey.PRODUCE, "the rows"),
    (ApiKey.ADD_OFFSETS_TO_TXN, "the group of the slot belongs to the transaction"),
    (ApiKey.TXN_OFFSET_COMMIT, "batch id + 1 as the slot's committed offset"),
    (ApiKey.END_TXN, "commit: rows and number become visible together"),
)


def _requests() -> Picture:
    table = Table("request", "sent by", "asks", box=None)
    for key, sender, asks in ASKED:
        table.add_row(key.title, sender, asks)
    never = ", ".join(key.title for key in NOT_ASKED)
    return picture({"asked": len(ASKED)}, table, Text(f"never: {never}"))


def _watermark() -> Picture:
    table = Table("batch", "visit", "its window ends", "drops up to", "", box=None)
    for visit in visits():
        table.add_row(
            str(visit.batch),
            _clock(visit.time_s),
            _clock(visit.window_s + 60 * WINDOW_MINUTES),
            _clock(visit.late_s),
            "dropped" if visit.dropped else "counted",
        )
    late = sum(visit.dropped for visit in visits())
    return picture({"visits": len(VISITS), "late_planned": late}, table)


def _slot() -> Picture:
    table = Table("", "request", "what for", box=None)
    for number, (key, why) in enumerate(SLOT, 1):
        table.add_row(str(number), key.title, why)
    return picture({"slot_requests": len(SLOT)}, table)


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "plan": _plan,
    "checkpoint": _checkpoint,
    "requests": _requests,
    "watermark": _watermark,
    "slot": _slot,
}


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "plan": _plan_figure(),
        "checkpoint": _checkpoint_figure(),
        "requests": _requests_figure(),
        "watermark": _watermark_figure(),
        "sinks": _sinks_figure(),
        "slot": _slot_figure(),
    }


def _cell(text: str, colour: str = "", align: str = "center") -> str:
    fill = f' bgcolor="{colour}"' if colour else ""
    return f'<td align="{align}"{fill}>{text}</td>'


def _rows_figure(name: str, title: str, rows: Sequence[str]) -> graphviz.Digraph:
    """Draw a table. Each row is a text of HTML cells."""
    figure = new_figure(name, title)
    figure.node(name, shape="plaintext", label=table(rows, padding=5))
    return figure


def _plan_figure() -> graphviz.Digraph:
    rows = [
        _cell("")
        + "".join(_cell(f"{SOURCE}-{p}: {count}") for p, count in enumerate(FILLED))
        + _cell("together")
    ]
    for batch, each in enumerate(shares()):
        cells = [
            _cell(f"{start} … {end}", _NEW) if end > start else _cell("nothing", _DONE)
            for start, end in each.ranges
        ]
        rows.append(_cell(f"batch {batch}") + "".join(cells) + _cell(str(each.records)))
    return _rows_figure("plan", f"At most {MOST_PLANNED} offsets in a micro-batch", rows)


def _steps_figure(name: str, title: str, steps: Sequence[tuple[str, str]]) -> graphviz.Digraph:
    figure = new_figure(name, title)
    figure.attr("node", shape="box", style="filled")
    for number, (text, colour) in enumerate(steps):
        figure.node(f"s{number}", label=text, fillcolor=colour)
    for number in range(len(steps) - 1):
        figure.edge(f"s{number}", f"s{number + 1}")
    return figure


def _checkpoint_figure() -> graphviz.Digraph:
    """Draw the life of a micro-batch, and where the query continues after a crash."""
    n = _SHOWN
    steps = [
        (f"offsets/{n}\nis written", _NEW),
        ("tasks read", _DONE),
        ("the sink writes", _DONE),
        (f"commits/{n}\nis written", _NEW),
        (f"batch {n + 1}", "white"),
    ]
    figure = _steps_figure("checkpoint", f"Batch {n}, and a crash in the middle of it", steps)
    figure.node("crash", shape="octagon", fillcolor=_BAD)
    figure.edge("s1", "crash", style="dashed")
    figure.edge("s2", "crash", style="dashed")
    again = f"batch {n} again, the same offsets"
    figure.edge("crash", "s1", label=again, style="dashed", constraint="false")
    return figure


def _requests_figure() -> graphviz.Digraph:
    figure = new_figure("requests", "What the brokers see of a reading job")
    figure.attr("node", shape="box", style="filled", fillcolor="white")
    figure.node("driver", label="driver: plans", fillcolor=_NEW)
    figure.node("tasks", label="tasks: read", fillcolor=_NEW)
    figure.node("brokers")
    figure.node("checkpoint", shape="folder", fillcolor=_DONE)
    for who in ("driver", "tasks"):
        sent = [key.title for key, senders, _ in ASKED if who in senders]
        figure.edge(who, "brokers", label=",\n".join(sent))
    figure.edge("driver", "checkpoint", label="offsets, commits")
    figure.edge("driver", "tasks", label="ranges of offsets")
    return figure


def _watermark_figure() -> graphviz.Digraph:
    rows = ["".join(map(_cell, ("batch", "visit", "its window ends", "dropped up to", "its fate")))]
    for visit in visits():
        colour = _BAD if visit.dropped else _DONE
        cells = (
            str(visit.batch),
            _clock(visit.time_s),
            _clock(visit.window_s + 60 * WINDOW_MINUTES),
            _clock(visit.late_s),
        )
        rows.append(
            "".join(map(_cell, cells)) + _cell("dropped" if visit.dropped else "counted", colour)
        )
    return _rows_figure("watermark", f"Six visits, and a delay of {DELAY_MINUTES} minutes", rows)


#: Sink → where the batch goes when it is written a second time, and what a reader then finds.
SINKS: Final = (
    ("a topic, at least once", "behind the first", "each row of the batch twice"),
    ("a folder for each batch id", "into the same folder, over the first", "each row once"),
    ("a topic, by slot", "nowhere: the slot's number says that it is done", "each row once"),
)


def _sinks_figure() -> graphviz.Digraph:
    rows = ["".join(map(_cell, ("the sink", "batch 1 once more goes", "a reader finds")))]
    for number, cells in enumerate(SINKS):
        colour = _DONE if number else _BAD
        rows.append("".join(_cell(wrapped(text, 20), align="left") for text in cells[:2]))
        rows[-1] += _cell(wrapped(cells[2], 16), colour, "left")
    return _rows_figure("sinks", "The same batch, run twice", rows)


def _slot_figure() -> graphviz.Digraph:
    rows = ["".join(map(_cell, ("", "request", "what for")))]
    for number, (key, why) in enumerate(SLOT, 1):
        inside = _NEW if key in (ApiKey.PRODUCE, ApiKey.TXN_OFFSET_COMMIT) else ""
        rows.append(
            _cell(str(number))
            + _cell(key.title, inside, "left")
            + _cell(wrapped(why, 34), align="left")
        )
    return _rows_figure("slot", "One slot of one micro-batch is one transaction", rows)
