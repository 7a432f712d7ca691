"""The matrix of partitions and brokers: leaders, replicas in sync, replicas behind, all offsets."""

import math
from collections.abc import Mapping
from typing import Final

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Resize

from kafka_edu.common.words import plural

from ..model import NEVER, Model
from ..subjects import PARTITIONS
from ..view_model.figures import count, old, short_count
from ..view_model.partition_view import (
    DEAD,
    IN_ISR,
    LEADER,
    OUT_OF_SYNC,
    PREFERRED,
    REPLICA_SIGNS,
    PartitionKey,
    PartitionView,
)
from .drawn import Drawn, Lines, Order, Value, ink

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_LAG_BAR: Final = 4
_FOLDED, _OPEN = "▸", "▾"


def lag_bar(lag: int) -> str:
    """Draw the lag as a bar of four characters, on a logarithmic scale. A million fills all
    four.
    """
    eighths = 0 if lag <= 0 else max(1, round(math.log10(lag + 1) / 6 * _LAG_BAR * 8))
    return "".join(_EIGHTHS[min(max(eighths - i * 8, 0), 8)] for i in range(_LAG_BAR))


def offset(value: int, age_us: int) -> str:
    """Format an offset. It is `?` if it is not known, or if no sample has reported it."""
    return "?" if value < 0 or age_us == NEVER else count(value)


class Columns:
    """The width of each column for this screen width.

    A narrow cell shows only the symbol. A wide cell also shows how far a replica is behind.
    """

    def __init__(self, model: Model, width: int) -> None:
        partitions = model.cluster.partitions.by_key.values()
        self.brokers = list(model.cluster.brokers.by_id)
        names = max((len(str(p.key)) for p in partitions), default=8)
        fixed = 9 + 10 + 10 + 11 + 10
        room = width - fixed
        self.cell = (
            10
            if room - min(names + 4, 32) >= 10 * len(self.brokers)
            else 5
            if room - 12 >= 5 * len(self.brokers)
            else 3
        )
        self.name = max(min(names + 4, 32, room - self.cell * len(self.brokers)), 12)


class MatrixHead(Drawn):
    """The headings of the columns."""

    subject = PARTITIONS

    def __init__(self, model: Model, rows: "MatrixRows") -> None:
        super().__init__(model, id="matrix-head")
        self._rows = rows

    def draw(self) -> Text:
        view, colours = self.model.cluster, self.palette
        columns = Columns(self.model, self.size.width)
        head = ink(f"{'partition':<{columns.name}}", f"bold {colours.dim}")
        for broker in columns.brokers:
            name = (
                f"broker {broker}"
                if columns.cell >= 10
                else f"b{broker}"
                if columns.cell > 3
                else str(broker)
            )
            crown = "♛" if broker == view.controller and columns.cell > 3 else ""
            dead = "strike " if not view.brokers.alive(broker) else ""
            head.append(name, style=f"bold {dead}{colours.broker(broker)}")
            head.append(crown, style=colours.warning)
            head.append(" " * max(columns.cell - len(name) - len(crown), 0))
        named = self._rows.column
        head.append(
            f"{named('epoch'):<9}{named('HW'):>9} {named('LEO'):>9}{named('lag'):>6}      "
            f"{named('ISR')}/min",
            style=f"bold {colours.dim}",
        )
        return head


class MatrixLegend(Drawn):
    """The explanation of the symbols."""

    subject = PARTITIONS

    def draw(self) -> Text:
        colours = self.palette
        legend = Text("")
        for sign, words in REPLICA_SIGNS.items():
            legend.append(f"{sign} ").append(f"{words}   ", style=colours.dim)
        legend.append(f"{PREFERRED}n ", style=colours.warning)
        legend.append("n should lead, and does not   ", style=colours.dim)
        legend.append(f"{DEAD}{LEADER} {DEAD}{IN_ISR} ", style=colours.error)
        legend.append("dead, not yet in ZooKeeper   ", style=colours.dim)
        lag = "lag = LEO - HW, by powers of ten"
        if legend.cell_len + len(lag) <= self.size.width:
            legend.append(lag[:3]).append(lag[3:], style=colours.dim)
        legend.truncate(self.size.width, overflow="ellipsis")
        return legend


class MatrixRows(Lines):
    """One row for each partition. The user's topics can be sorted; internal topics come last."""

    subject = PARTITIONS
    orders = (
        Order("lag", greatest_first=True),
        Order("ISR"),
        Order("epoch", greatest_first=True),
        Order("HW", greatest_first=True),
        Order("LEO", greatest_first=True),
    )

    def __init__(self, model: Model) -> None:
        super().__init__(id="matrix-rows")
        self.model = model
        self.unfolded: set[str] = set()
        """The internal topics whose partitions are shown."""
        self._rows: list[PartitionView | str] = []
        """Each row is a partition, or the name of an internal topic, which stands for all its
        partitions.
        """

    def _build(self) -> list[PartitionView | str]:
        """Return the rows: one for each partition of the user's topics, and one for each internal
        topic. If an internal topic is unfolded, its partitions also have rows.
        """
        rows: list[PartitionView | str] = []
        heads: set[str] = set()
        for p in self.model.cluster.partitions.by_key.values():
            if p.internal and p.key.topic not in heads:
                heads.add(p.key.topic)
                rows.append(p.key.topic)
            if not p.internal or p.key.topic in self.unfolded:
                rows.append(p)
        return rows

    def tick(self) -> None:
        self._rows = self._build()
        super().tick()

    def values(self, index: int) -> Mapping[str, Value | None]:
        row = self._rows[index]
        if isinstance(row, str) or row.internal:
            return dict.fromkeys(order.name for order in self.orders)
        return {
            "epoch": row.leader_epoch,
            "HW": row.hw,
            "LEO": row.leo,
            "lag": row.lag,
            "ISR": len(row.isr),
        }

    def key(self, index: int) -> PartitionKey | None:
        """Return the partition of a row. None if the row stands for a whole internal topic."""
        row = self._rows[index]
        return None if isinstance(row, str) else row.key

    def index_of(self, key: PartitionKey) -> int | None:
        """Return the row of a partition. None if it is not shown."""
        return next((i for i in range(len(self._rows)) if self.key(i) == key), None)

    def count(self) -> int:
        return len(self._rows)

    def empty(self) -> str:
        return "no topics yet: press l to make one and to produce and consume, or use any client"

    def action_choose(self) -> None:
        """Fold or unfold an internal topic. On a partition, show the causes."""
        row = self._rows[self.cursor] if self.cursor < len(self._rows) else None
        if isinstance(row, str):
            self.unfolded ^= {row}
            self.tick()
            return
        super().action_choose()

    def _folded(self, topic: str) -> Text:
        """Draw an internal topic as one line: each broker's leaderships, and the worst state."""
        view, colours = self.model.cluster, self.palette
        columns = Columns(self.model, self.size.width)
        of_it = [p for p in view.partitions.by_key.values() if p.key.topic == topic]
        sign = _OPEN if topic in self.unfolded else _FOLDED
        name = f"{sign} {topic}"
        if len(name) > columns.name - 1:
            name = name[: columns.name - 2] + "…"
        row = ink(name.ljust(columns.name), colours.dim)
        for broker in columns.brokers:
            led = sum(p.leader == broker for p in of_it)
            style = colours.broker(broker) if view.brokers.alive(broker) else colours.error
            row.append(f" {led:>2}{LEADER}"[: columns.cell].ljust(columns.cell), style=style)
        dead = sum(not view.partitions.leader_lives(p) for p in of_it)
        under = sum(view.partitions.under_replicated(p) for p in of_it)
        row.append(plural(len(of_it), "partition"), style=colours.dim)
        if dead:
            row.append(f" · {dead} without a leader", style=f"bold {colours.error}")
        elif under:
            row.append(f" · {under} under-replicated", style=f"bold {colours.warning}")
        elif unknown := sum(not p.isr_known for p in of_it):
            row.append(f" · the ISR of {unknown} is not known", style=colours.dim)
        elif age_us := self.model.replication.isrs_old_us(of_it):
            row.append(f" · all in sync then, {old(age_us)}", style=colours.dim)
        else:
            row.append(" · all in sync", style=colours.dim)
        row.append(f" · ⏎ {'folds' if topic in self.unfolded else 'unfolds'}", style=colours.dim)
        return row

    def line(self, index: int) -> Text:
        view, colours = self.model.cluster, self.palette
        p = self._rows[index]
        if isinstance(p, str):
            return self._folded(p)
        columns = Columns(self.model, self.size.width)
        star = f" {PREFERRED}{p.preferred}" if p.preferred_is_not_leading else ""
        led = view.partitions.leader_lives(p)
        name = p.key.fitted(columns.name - 1 - len(star))
        row = ink(name, "bold" if led else f"bold {colours.error}")
        row.append(star, style=colours.warning)
        row.append(" " * (columns.name - row.cell_len))
        for broker in columns.brokers:
            row.append_text(self._cell(p, broker, columns.cell))
        grown = view.glow.glows("epoch", p.key)
        row.append(
            f"{count(p.leader_epoch) if p.leader_epoch >= 0 else '?'}{' ↑' if grown else ''}".ljust(
                9
            ),
            style="bold" if grown else "",
        )
        age_us = self.model.age_of_offsets_us(p)
        quiet = colours.dim if age_us or not led else ""
        row.append(f"{offset(p.hw, age_us):>9} ", style=quiet)
        row.append(f"{offset(p.leo, age_us):>9}", style=quiet)
        if age_us:
            words = "" if age_us == NEVER else f" {old(age_us)}"
            row.append(f"{words:<{7 + len(lag_bar(0))}}", style=colours.dim)
        else:
            row.append(f"{short_count(p.lag):>6} ", style="bold" if p.lag else colours.dim)
            row.append(f"{lag_bar(p.lag)}", style=colours.warning)
        row.append_text(self._min_isr(p))
        return row

    def _cell(self, p: PartitionView, broker: int, width: int) -> Text:
        view, colours = self.model.cluster, self.palette
        sign = view.partitions.sign(p, broker)
        style = {
            LEADER: f"bold {colours.broker(broker)}",
            IN_ISR: colours.broker(broker),
            OUT_OF_SYNC: f"bold {colours.warning}",
            DEAD: f"bold {colours.error}",
        }.get(sign, "")
        if view.glow.glows("cell", p.key, broker):
            style += f" bold on {colours.glow}"
        standing = view.partitions.standing(p, broker)
        text = f" {sign}{standing}"
        text += " " * (len(text) < min(width, 3))
        behind = p.behind(broker)
        note = (
            f"-{short_count(behind)}"
            if width >= 10 and behind and sign in (OUT_OF_SYNC, DEAD)
            else ""
        )
        return Text.assemble(
            (text, style), (note, colours.dim), " " * max(width - len(text) - len(note), 0)
        )

    def _min_isr(self, p: PartitionView) -> Text:
        """Draw the size of the ISR in ZooKeeper, min.insync.replicas, and whether produces are
        refused.

        A dead member still counts as in sync until its session ends, and produces with acks=all
        wait.
        """
        colours, partitions = self.palette, self.model.cluster.partitions
        members, dead = len(p.isr), partitions.dead_members(p)
        narrow = self.size.width < 100
        told = f" {members}/{p.min_isr or '?'}"
        if not partitions.leader_lives(p):
            return ink(" no leader" if narrow else f"{told} no leader", f"bold {colours.error}")
        if not p.isr_known:
            return ink(f" ?/{p.min_isr or '?'}", colours.dim)
        if self.model.replication.isrs_old_us([p]):
            return ink(f"{told} then", colours.dim)
        if members < p.min_isr:
            return ink(f"{told} ✗{'' if narrow else ' refused'}", f"bold {colours.error}")
        if dead:
            words = f" {dead}{DEAD}" if narrow else f" waits: {dead} dead"
            return ink(told + words, f"bold {colours.warning}")
        return ink(f"{told} ok", colours.ok) if p.min_isr else ink(told, colours.dim)


class PartitionMatrix(Vertical):
    """The headings and the rows of the matrix. The headings do not scroll."""

    subject = PARTITIONS

    def __init__(self, model: Model) -> None:
        super().__init__(id="matrix")
        self.rows = MatrixRows(model)
        self._head = MatrixHead(model, self.rows)
        self._legend = MatrixLegend(model, id="matrix-legend")

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.rows
        yield self._legend

    def on_resize(self, event: Resize) -> None:
        """Show the legend only if there is room for it."""
        self._legend.display = event.size.height >= 10

    def tick(self) -> None:
        self._head.tick()
        self.rows.tick()
        self._legend.tick()
