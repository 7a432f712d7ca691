"""The time line: what happened, one lane for each process, with arrows from causes to effects."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from rich.text import Text
from textual.geometry import Region
from textual.strip import Strip

from kafka_edu.instruments.sentences import teller
from kafka_edu.trace.event import Envelope, Source, SourceKind

from ..model import Model
from ..screens.chain_screen import ChainScreen
from ..subjects import TICKER
from ..view_model.causal_graph import ABOVE, GraphRow, Run, graph
from ..view_model.figures import duration
from ..view_model.glow import GLOW_US
from ..view_model.signs import sign_of
from ..view_model.ticker import LineLog
from .drawn import Lines, ink
from .event_text import coloured, fitted, wall_clock

_RANKS: Final = {
    SourceKind.CLIENT: 0,
    SourceKind.PROXY: 1,
    SourceKind.SUPERVISOR: 2,
    SourceKind.ZOOKEEPER: 3,
    SourceKind.BROKER: 4,
}
"""The order of the lanes. Processes that act on others are at the left."""
_BELOW: Final = 40
"""How many rows below the window are read too, because arrows in the window may end there."""
_SINCE: Final = 10
"""The width of the column with the time since the previous line."""
_LONG_US: Final = 1_000_000


class TickerLines(Lines):
    """The lines of the time line, the newest at the bottom.

    The list follows the newest line while the cursor is on it.
    """

    subject = TICKER

    def __init__(self, model: Model, id: str = "ticker", everything: bool = False) -> None:
        super().__init__(id=id, follow=True)
        self.model = model
        self.everything = everything
        """Whether to show every fact, and not only the important ones."""
        self._graph: dict[int, list[Run]] = {}
        """The index of a line in view → its lanes."""
        self._first = 0
        """The row of the first line in view."""
        self._lanes: list[Source] = []

    @property
    def facts(self) -> LineLog:
        return self.model.ticker.all if self.everything else self.model.ticker.loud

    def count(self) -> int:
        return len(self.facts.lines)

    def empty(self) -> str:
        return "nothing has happened since you began to look"

    @property
    def lane_width(self) -> int:
        """Return the width of a lane. On the Timeline screen, lanes are as wide as possible."""
        if not self.everything and self.id == "ticker":
            return 3 if self.size.width < 100 else 4
        return 4 if self.size.width < 100 else 5 if self.size.width < 160 else 10

    def lanes(self) -> list[Source]:
        """Return the processes that have a lane: those with a line, and every broker."""
        brokers = {Source.of_broker(broker) for broker in self.model.cluster.brokers.by_id}
        known = self.facts.sources | brokers | self.model.also_lanes
        return sorted(known, key=lambda source: (_RANKS[source.kind], source.id))

    def tick(self) -> None:
        self._lanes = self.lanes()
        if self.border_title != (title := self.title()):
            self.border_title = title
        super().tick()

    def action_choose(self) -> None:
        """Show the chain of causes of the line under the cursor."""
        if self.cursor < self.count():
            self.follow(self.facts.lines[self.cursor].envelope)

    def to_lane(self, by: int) -> None:
        """Move the cursor to the nearest earlier line in the next lane to the left or right."""
        lines = self.facts.lines
        if not lines or self.lines_lane(self.cursor) is None:
            return
        wanted = (self.lines_lane(self.cursor) or 0) + by
        for at in [*range(self.cursor, -1, -1), *range(self.cursor, len(lines))]:
            if self.lines_lane(at) == wanted:
                self.action_move(at - self.cursor)
                return

    def lines_lane(self, index: int) -> int | None:
        """Return the number of a line's lane, or None."""
        source = self.facts.lines[index].source
        return self._lanes.index(source) if source in self._lanes else None

    def follow(self, envelope: Envelope) -> None:
        """Show the chain of causes of a fact."""
        self.app.push_screen(ChainScreen(self.model.ticker, envelope))

    def _visible(self) -> dict[int, Text]:
        self._draw_graph()
        return super()._visible()

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._first != self.scroll_offset.y:
            self._draw_graph()  # the list was scrolled since the last tick
        return super().render_lines(crop)

    def _draw_graph(self) -> None:
        """Draw the lanes and arrows next to the visible lines.

        No arrow leads to or from a fact that the filter hides.
        """
        log, shown, top = self.facts, self._shown_lines, self.scroll_offset.y
        height, known = self.size.height, len(log.lines)
        self._lanes = self.lanes()
        near = [at for at in shown[top : top + height + _BELOW] if at < known]
        rows = []
        for at in near:
            row, number = self._lone(at), log.lines[at].cause
            cause = log.index(number)
            if cause is not None and cause < at:
                cause_at = bisect_left(shown, cause)
                if shown[cause_at] == cause:
                    lane = self.lines_lane(cause) or 0
                    above = cause_at - top if cause_at >= top else ABOVE
                    row = row._replace(cause=above, cause_lane=lane, thread=number)
            rows.append(row)
        drawn = graph(rows, len(self._lanes), self.lane_width, shown=height)
        self._first, self._graph = top, dict(zip(near, drawn, strict=False))

    def _lone(self, index: int) -> GraphRow:
        """Return the row of one line, without an arrow from its cause."""
        return GraphRow(
            self.lines_lane(index) or 0, sign_of(self.facts.lines[index].envelope.event)
        )

    def title(self) -> str:
        """Return the title line: the names of the lanes, each above its lane."""
        names = "".join(
            self._lane_name(lane)[: self.lane_width - 1].ljust(self.lane_width)
            for lane in self._lanes
        )
        what = "what happened" if self._prefix() >= 14 else "what"
        return f"{what:<{self._prefix()}}{names}".rstrip()

    def _lane_name(self, lane: Source) -> str:
        """Return a lane's name: `b1`, or `g7` or `guest 7` for a guest, which sends no events."""
        if lane.broker not in self.model.cluster.brokers.guests:
            return teller(lane)
        return f"guest {lane.id}" if self.lane_width > 8 else f"g{lane.id}"

    def _prefix(self) -> int:
        """Return the width before the lanes: the time of day, and the time since the last line."""
        day = 14 if self.size.width >= 100 else 8
        return day + _SINCE if self._has_since else day

    @property
    def _has_since(self) -> bool:
        """Return whether there is room for the time since the previous line."""
        return self.id != "ticker" and self.size.width >= 100

    def line(self, index: int) -> Text:
        told, colours = self.facts.lines[index], self.palette
        time = wall_clock(told.envelope.wall_ms)
        fresh = self.model.cluster.glow.now_us - told.last.mono_us <= GLOW_US
        whole = self.id != "ticker"
        line = ink(time if self.size.width >= 100 else time[-6:], colours.quiet(fresh and whole))
        line.append("  ")
        if self._has_since:
            line.append_text(self._since(index))
        lanes = self._graph.get(index)
        if lanes is None:
            (lanes,) = graph([self._lone(index)], len(self._lanes), self.lane_width)
        self._append_lanes(line, lanes)
        line.append(
            f" {teller(told.source):<3} ", style=f"bold {colours.broker(told.source.broker)}"
        )
        said, because = fitted(told, self.scrollable_content_region.width - line.cell_len)
        words = Text(said)
        if fresh and not whole:
            words.stylize(f"bold on {colours.glow}")
        line.append_text(coloured(words, colours))
        if because:
            cause = ink(because, colours.dim)
            line.append_text(coloured(cause, colours))
        return line

    def _since(self, index: int) -> Text:
        """Return the time since the previous line. A long wait is highlighted."""
        lines, colours = self.facts.lines, self.palette
        since_us = lines[index].envelope.mono_us - lines[index - 1].envelope.mono_us if index else 0
        long = since_us >= _LONG_US
        words = f"+{duration(since_us / 1000)}" if since_us >= 1000 else ""
        return ink(f"{words:>{_SINCE - 2}}  ", f"bold {colours.warning}" if long else colours.dim)

    def _append_lanes(self, line: Text, runs: Sequence[Run]) -> None:
        colours = self.palette
        for run in runs:
            if run.lane is None:
                line.append(run.glyphs, style="" if run.glyphs.isspace() else colours.dim)
                continue
            colour = colours.broker(self._lanes[run.lane].broker)
            line.append(run.glyphs, style=f"bold {colour}" if run.at_home else colour)
