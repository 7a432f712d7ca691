"""The widgets of the Requests screen: the answer, the parts of each API, the slowest requests."""

from collections.abc import Mapping
from typing import Final

from rich.text import Text

from kafka_edu.instruments.request_times import (
    REMOTE,
    SIX_PARTS,
    THROTTLE,
    TOTAL,
    SlowRequest,
    brief_time,
    part_words,
)
from kafka_edu.instruments.sentences import fact_text
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.network import REQUEST_PARTS

from ..model import Model
from ..subjects import REQUESTS, SLOW_REQUESTS
from ..view_model.figures import count, duration, old, per_second
from ..view_model.requests_view import ApiRow, RequestId, RequestsView, id_of, in_order
from .drawn import Drawn, Lines, Order, Value, ink, stacked
from .event_text import coloured, wall_clock
from .prose import cut, folded

HEADS: Final = ("queue", "local", "remote", "throttle", "resp. q", "send")
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_NAME: Final = 18
_FIGURES: Final = 8
_RESPONSES_COLUMNS: Final = 140
_ALL_COLUMNS: Final = 96
"""On a terminal narrower than this, the throttle and the rate have no room."""
_HOP_BARS: Final = 23
"""The columns in a request's picture to the left of its bars: the part's name and its time."""
_BARRED: Final = 11
"""From this width of a cell on, in columns, the cell contains a bar."""


class RequestChoice:
    """The reader's choice: one broker or all, and whether hops are being recorded."""

    def __init__(self) -> None:
        self.broker: int | None = None
        self.hops = False

    def move(self, view: RequestsView, by: int) -> None:
        choices: list[int | None] = [None, *view.times.brokers()]
        at = choices.index(self.broker) if self.broker in choices else 0
        self.broker = choices[(at + by) % len(choices)]


def bar(part: float, width: int) -> str:
    """Draw a bar: `part`, 0.0 to 1.0, of `width`, in eighths of a character.

    A part above 0 is always visible.
    """
    eighths = round(min(max(part, 0.0), 1.0) * width * 8)
    if part > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


class RequestAnswer(Drawn):
    """A sentence that says in which part requests spend their time.

    Below are the queues and handlers of each broker.
    """

    subject = REQUESTS

    def __init__(self, model: Model, choice: RequestChoice) -> None:
        super().__init__(model, id="request-answer")
        self.choice = choice

    def draw(self) -> Text:
        view, colours, width = self.model.requests, self.palette, self.size.width
        words = f"? {unknown}" if (unknown := self.model.unsampled()) else self._answer()
        lines = [coloured(ink(text, "bold"), colours) for text in cut(folded(words, width, 0), 2)]
        roomy = width >= _ALL_COLUMNS
        line = ink("brokers " if roomy else "", colours.dim)
        line.append(
            "[all]" if self.choice.broker is None else " all ",
            style="bold reverse" if self.choice.broker is None else "",
        )
        for broker in view.times.brokers():
            queues = view.times.queues.get(broker)
            chosen = broker == self.choice.broker
            style = f"bold {colours.broker(broker)}"
            line.append("  ")
            line.append(f"[b{broker}]" if chosen else f"b{broker}", style=style)
            if queues is None:
                line.append(" no news", style=colours.dim)
                continue
            if age_us := self.model.old_us(broker):
                line.append(f" ? {old(age_us)}", style=f"bold {colours.warning}")
                continue
            waits = f"bold {colours.warning}" if queues.requests else colours.dim
            capacity = f"/{queues.capacity}" if roomy else ""
            line.append(f" queue {queues.requests}{capacity}", style=waits)
            full = queues.handlers and queues.busy >= queues.handlers
            glows = view.glow.glows("handlers", broker)
            style = colours.quiet(glows)
            if full:
                style = f"bold {colours.warning}" + (f" on {colours.glow}" if glows else "")
            line.append(
                f" {'handlers' if roomy else 'busy'} {queues.busy}/{queues.handlers}", style=style
            )
            if width >= _RESPONSES_COLUMNS:
                style = f"bold {colours.warning}" if queues.responses else colours.dim
                line.append(f" responses {queues.responses}", style=style)
        lines.append(line)
        return stacked(lines, width)

    def _answer(self) -> str:
        """Return the answer. If the broker's samples are old, return their age."""
        view, chosen = self.model.requests, self.choice.broker
        broker = view.busiest() if chosen is None else chosen
        age_us = self.model.old_us(broker) if broker is not None else 0
        if age_us:
            return f"? broker {broker} has sent nothing for {duration(age_us / 1000)}"
        return view.answer(chosen)


class RequestRows(Lines):
    """One line for each broker and API: the mean of six parts, p50, p99 and requests a second."""

    subject = REQUESTS
    heads = 1
    orders = tuple(Order(name, greatest_first=True) for name in ("p50", "p99", "req/s", *HEADS))

    def __init__(self, model: Model, choice: RequestChoice) -> None:
        super().__init__(id="request-rows")
        self.model = model
        self.choice = choice
        self._rows: list[ApiRow] = []

    def tick(self) -> None:
        self._rows = self.model.requests.rows(self.choice.broker)
        super().tick()

    def count(self) -> int:
        return len(self._rows) + 1 if self._rows else 0

    def empty(self) -> str:
        return self.model.unsampled() or "no broker has counted a request yet"

    def values(self, index: int) -> Mapping[str, Value | None]:
        """Return the figures of an API by column. All are None if it had no requests lately."""
        split = self._rows[index - 1].split
        if not split.requests:
            return dict.fromkeys(order.name for order in self.orders)
        return {
            "p50": split.percentile_us(TOTAL, 50),
            "p99": split.percentile_us(TOTAL, 99),
            "req/s": split.per_second,
            **{HEADS[part]: split.mean_us(part) for part in SIX_PARTS},
        }

    def _cell(self) -> int:
        width = self.scrollable_content_region.width - _NAME - 3 - len(self._figures()) * _FIGURES
        return max(width // len(self._parts()), 6)

    @property
    def _narrow(self) -> bool:
        return self.scrollable_content_region.width < _ALL_COLUMNS

    def _parts(self) -> list[int]:
        """Return the parts for which there is room. In a narrow window, the throttle is left
        out.
        """
        return [part for part in SIX_PARTS if part != THROTTLE or not self._narrow]

    def _figures(self) -> list[str]:
        return ["p50", "p99"] if self._narrow else ["p50", "p99", "req/s"]

    def line(self, index: int) -> Text:
        cell, colours = self._cell(), self.palette
        if index == 0:
            names = [self.column(HEADS[part])[: cell - 1] for part in self._parts()]
            heads = "".join(f"{name:<{cell}}" for name in names)
            figures = "".join(f"{self.column(name):>{_FIGURES}}" for name in self._figures())
            return ink(f"{'':<{_NAME + 3}}{heads}{figures}", colours.dim)
        row = self._rows[index - 1]
        api, split = row.times.api, row.split
        line = ink(f"b{api.broker} ", f"bold {colours.broker(api.broker)}")
        name = api.name if len(api.name) < _NAME else api.name[: _NAME - 2] + "…"
        if age_us := self.model.old_us(api.broker):
            words = f"? {old(age_us)}; {count(row.times.requests)} then"
            return line.append(f"{name:<{_NAME}}{words}", style=colours.dim)
        if not split.requests:
            line.append(f"{name:<{_NAME}}", style=colours.dim)
            line.append(f"none in the last 10 s; {count(row.times.requests)} so far", colours.dim)
            return line
        line.append(f"{name:<{_NAME}}", style="bold")
        most, whole = split.most(), split.mean_us(TOTAL)
        for part in self._parts():
            line.append_text(self._part(row, part, whole, part == most, cell))
        for percent in (50, 99):
            line.append(f"{brief_time(split.percentile_us(TOTAL, percent)):>{_FIGURES}}", "bold")
        if not self._narrow:
            line.append(f"{per_second(split.per_second).removesuffix('/s'):>{_FIGURES}}")
        return line

    def _part(self, row: ApiRow, part: int, whole: float, most: bool, cell: int) -> Text:
        colours, mean_us = self.palette, row.split.mean_us(part)
        if mean_us <= 0:
            return ink(f"{'–':<{cell}}", colours.dim)
        wanted = part == REMOTE and row.times.api.is_patient
        style = colours.dim if wanted else f"bold {colours.warning}" if most else ""
        text = Text("")
        if cell >= _BARRED:
            text.append(bar(mean_us / whole if whole else 0.0, cell - 8), style=style)
        text.append(brief_time(mean_us), style=style)
        text.pad_right(max(cell - text.cell_len, 1 if cell >= _BARRED else 0))
        text.truncate(cell)
        return text


class SlowLines(Lines):
    """The slowest requests of the last minute; while hops are recorded, the latest requests."""

    subject = SLOW_REQUESTS
    orders = (Order("API"), Order("client"), Order("broker"), Order("time", greatest_first=True))

    def __init__(self, model: Model, choice: RequestChoice) -> None:
        super().__init__(id="slow")
        self.model = model
        self.choice = choice
        self.rows: list[SlowRequest] = []
        self._hops: dict[RequestId, list[Envelope]] = {}
        """The hops of each row's request.

        They are kept here, because the model may have dropped them when the row is chosen.
        """
        self._chosen: RequestId | None = None
        """The request under the cursor.

        The cursor stays on it when other requests come above it.
        """

    def tick(self) -> None:
        view, broker = self.model.requests, self.choice.broker
        if self.choice.hops:
            self.rows = [r for r in reversed(view.latest) if broker in (None, r.broker)]
            self._hops = view.latest_hops()
        else:
            self.rows = view.times.slowest(50, broker=broker)
            self._hops = {}
        ids = [id_of(row) for row in self.rows]
        if self._chosen in ids:
            self.cursor = ids.index(self._chosen)
        super().tick()

    def hops(self, index: int) -> list[Envelope]:
        """Return the recorded hops of a row's request."""
        key = id_of(self.rows[index])
        return self._hops.get(key) or self.model.requests.hops(key)

    def values(self, index: int) -> Mapping[str, Value | None]:
        row = self.rows[index]
        return {
            "API": row.api.name,
            "client": row.sent.client_id,
            "broker": row.broker,
            "time": row.sent.total_us,
        }

    def cursor_moved(self) -> None:
        """Keep the cursor on this request. On the first line, always show the first request."""
        self._chosen = id_of(self.rows[self.cursor]) if 0 < self.cursor < len(self.rows) else None

    def count(self) -> int:
        return len(self.rows)

    def empty(self) -> str:
        if self.choice.hops:
            return "no request has been answered since hops are recorded"
        return "no request took longer than 100 ms in the last minute, except for wanted waits"

    def line(self, index: int) -> Text:
        colours, row = self.palette, self.rows[index]
        line = ink(f"{wall_clock(row.envelope.wall_ms)[:8]} ", colours.dim)
        line.append(f"b{row.broker} ", style=f"bold {colours.broker(row.broker)}")
        line.append(f"{brief_time(row.sent.total_us):>7} ", style=f"bold {colours.warning}")
        line.append(row.name, style="bold")
        part = row.most
        line.append(
            f": {brief_time(row.parts_us[part])} of it {part_words(row.sent.api_key, part)}"
        )
        return line


class HopPicture(Drawn):
    """One request from its arrival to its last byte. Each part begins where the previous part
    ends.
    """

    subject = SLOW_REQUESTS

    def __init__(self, model: Model, request: SlowRequest, hops: list[Envelope]) -> None:
        super().__init__(model, id="hops")
        self.request = request
        self._hops = hops
        """The hops of the request. They are kept, because the view drops old requests."""

    def draw(self) -> Text:
        colours, width = self.palette, self.size.width
        request = self.request
        total = max(request.sent.total_us, 1)
        room = max(width - 40, 10)
        lines, begins = [], 0
        for part in SIX_PARTS:
            took = request.parts_us[part]
            line = ink(f"{REQUEST_PARTS[part]:<15}", "bold" if part == request.most else "")
            line.append(f"{brief_time(took) if took else '–':>8}  ")
            first = round(begins / total * room)
            long = max(round(took / total * room), 1) if took else 0
            style = colours.warning if part == request.most else colours.ok
            line.append(" " * min(first, room - 1))
            line.append("█" * min(long, room - min(first, room - 1)), style=style)
            words, style = part_words(request.sent.api_key, part), "bold"
            if part == REMOTE and request.api.is_patient:
                words, style = f"{words}, as it wanted", colours.dim
            lines.append(line)
            if took and (part == request.most or style == colours.dim):
                if line.cell_len + 2 + len(words) > width:
                    lines.append(line := ink(" " * _HOP_BARS))
                line.append(f"  {words}", style=style)
            if REQUEST_PARTS[part] != "throttle":
                begins += took
        lines.append(
            ink(f"{'total':<15}{brief_time(total):>8}", "bold").append(
                f"  {request.sent.size_bytes:,} bytes answered on {request.sent.connection_id}",
                style=colours.dim,
            )
        )
        lines += self._recorded()
        return stacked(lines, width)

    def _recorded(self) -> list[Text]:
        self._hops = max(self._hops, self.model.requests.hops(id_of(self.request)), key=len)
        hops = in_order(self._hops)
        if len(hops) < 2:
            words = "Its single hops were not recorded: `h` on the Requests screen records hops."
            return [Text(""), ink(words, self.palette.dim)]
        return [Text(""), *(self._hop(hop, hops[0]) for hop in hops)]

    def _hop(self, hop: Envelope, first: Envelope) -> Text:
        line = ink(f"{brief_time(hop.mono_us - first.mono_us):>9}  ", self.palette.dim)
        line.append(f"b{hop.broker} ", style=f"bold {self.palette.broker(hop.broker)}")
        return line.append(fact_text(hop.event))
