"""The widgets of the Transactions screen: transactional ids, and the partitions that they hold
back.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from rich.text import Text

from kafka_edu.common.words import plural

from ..model import NEVER, Model
from ..palette import Palette
from ..subjects import HELD_PARTITIONS, TRANSACTIONS
from ..view_model.figures import count, duration
from ..view_model.groups_view import Answer
from ..view_model.transaction_state import (
    COMPLETE,
    ONGOING,
    PREPARED,
    UNKNOWN,
    WAITS,
    WRITTEN,
    OpenInLog,
    PartitionRow,
    TransactionView,
    age_words,
)
from ..view_model.transactions_view import TransactionsView
from .drawn import Drawn, Lines, Order, Value, aged, ink, stacked
from .event_text import coloured
from .prose import column_width, cut, fitted_name, folded
from .time_left import time_left

_NAMES: Final = (8, 26)
"""The minimum and the maximum width of the column with names of ids."""
_PARTITIONS: Final = (9, 26)
_WIDE: Final = 110
"""At this width or more, a line has room for all columns."""
_MARKERS: Final = 12
"""The most markers that are drawn one by one in the list."""


class TransactionChoice:
    """The transactional id that the lower part shows. It stays chosen when the list changes."""

    def __init__(self) -> None:
        self.name = ""
        self.rows: list[TransactionView] = []

    def settle(self, rows: list[TransactionView]) -> int:
        """Update the list of ids, and return the chosen id's row. At first, the first id is
        chosen.
        """
        self.rows = rows
        names = [row.transactional_id for row in rows]
        if self.name not in names:
            self.name = names[0] if names else ""
        return names.index(self.name) if self.name else 0

    def of(self, view: TransactionsView) -> TransactionView | None:
        return view.by_id.get(self.name)


class TransactionAnswer(Drawn):
    """Shows which transactions hold readers back, and what will end this. The worst one comes
    first.
    """

    subject = TRANSACTIONS

    def draw(self) -> Text:
        width, most = self.size.width, max(self.size.height, 1)
        answers = self.model.transactions.answers()
        if unknown := self.model.unknown():
            answers = [Answer("warning", f"… {unknown}")]
        elif answers[0].kind == "ok" and (silence := self.model.silence()):
            answers = [Answer("warning", f"? {silence}")]
        lines: list[Text] = []
        for number, answer in enumerate(answers):
            style = f"bold {self.palette.verdict(answer.kind)}"
            told = cut(folded(answer.words, width), most - len(lines))
            lines += [coloured(ink(each, style), self.palette) for each in told]
            if len(lines) == most:
                rest = len(answers) - number - 1
                if rest:
                    lines[-1].truncate(width - 11, overflow="ellipsis")
                    lines[-1].append(f" +{rest} more", style=f"bold {self.palette.warning}")
                break
        return stacked(lines, width)


class TransactionLines(Lines):
    """One line for each transactional id: its state, its coordinator, and its clock or markers."""

    subject = TRANSACTIONS
    orders = (
        Order("open", greatest_first=True),
        Order("state"),
        Order("id"),
        Order("partitions", greatest_first=True),
    )

    def __init__(self, model: Model, choice: TransactionChoice) -> None:
        super().__init__(id="transactions")
        self.model = model
        self.choice = choice
        self._wide = False
        self._names = self._producers = 0
        """The widths of two columns. A tick measures them once, for all lines."""

    def tick(self) -> None:
        """Update the ids. The cursor stays on its id while the id exists."""
        self.cursor = self.choice.settle(self.model.transactions.transactions())
        rows = self.choice.rows
        self._wide = self.scrollable_content_region.width >= _WIDE
        self._names = column_width([row.transactional_id for row in rows], _NAMES)
        self._producers = max((len(_producer(row, self._wide)) for row in rows), default=0)
        super().tick()

    def cursor_moved(self) -> None:
        if self.cursor < len(self.choice.rows):
            self.choice.name = self.choice.rows[self.cursor].transactional_id

    def count(self) -> int:
        return len(self.choice.rows)

    def empty(self) -> str:
        return "no producer has initialised with a transactional.id yet"

    def title_words(self) -> str:
        """Return the end of the list's title: its order, and what is not in view."""
        left_out = self.model.transactions.left_out
        more = f" · {count(left_out)} more are not kept" if left_out else ""
        return f"{self.order_words(', the longest open first')}{self.out_of_view()}{more}"

    def values(self, index: int) -> Mapping[str, Value | None]:
        view = self.choice.rows[index]
        return {
            "open": view.open_us(self.model.transactions.now_us)[0] if view.open else None,
            "state": view.state,
            "id": view.transactional_id,
            "partitions": len(view.partitions),
        }

    def line(self, index: int) -> Text:
        colours, view = self.palette, self.choice.rows[index]
        txns, wide, width = self.model.transactions, self._wide, self._names
        chosen = view.transactional_id == self.choice.name
        line = ink("▶ " if chosen else "  ", "bold")
        line.append(f"{fitted_name(view.transactional_id, width):<{width}} ", style="bold")
        rest = ink(f"{view.state or UNKNOWN:<14} ", self._state_style(view))
        if txns.glow.glows("state", view.transactional_id):
            rest.stylize(f"on {colours.glow}")
        coordinator = view.coordinator
        rest.append(
            f"{f'b{coordinator}' if coordinator >= 0 else 'b?':<3} ",
            style=f"bold {colours.broker(coordinator)}",
        )
        rest.append(f"{_producer(view, wide):<{self._producers}}  ", style=colours.dim)
        age_us = self.model.old_us(coordinator) if coordinator >= 0 else 0
        return _with_age(line, rest, self._news(view, wide), age_us, colours)

    def _state_style(self, view: TransactionView) -> str:
        colours = self.palette
        if view.open:
            return f"bold {colours.warning}"
        return f"bold {colours.ok}" if view.state in COMPLETE else colours.dim

    def _news(self, view: TransactionView, wide: bool) -> Text:
        """Draw the most important data for the current state, in one line."""
        colours, txns = self.palette, self.model.transactions
        line = Text("")
        if view.inherited:
            line.append("? as its last coordinator said · ", style=f"bold {colours.warning}")
        if view.state == ONGOING:
            line.append(f"open {txns.open_words(view)}", style="bold")
            left_us = view.left_us(txns.now_of(view.coordinator))
            if left_us is not None:
                line.append(" · ").append_text(time_left(left_us // 1000, view.timeout_ms, colours))
            if wide:
                line.append(f" · {plural(len(view.partitions), 'partition')}", style=colours.dim)
        elif view.state in PREPARED:
            squares = [_square(state) for state in view.markers.values()]
            line.append("markers ").append("".join(sorted(squares)[:_MARKERS]), style=colours.ok)
            line.append(f" {view.written} of {len(view.markers)} written")
            if view.waits_for:
                line.append(f" · waits for {view.waits_for[0]}", style=f"bold {colours.warning}")
                more = len(view.waits_for) - 1
                line.append(f" and {more} more" if more else "", style=colours.warning)
        elif view.ended is not None:
            ago = duration(txns.ago_us(view, view.ended.at_us) / 1000)
            line.append(f"{view.ended.how} {ago} ago", style="bold")
            line.append(f" · {_ended_words(view, wide)}", style=colours.dim)
        else:
            line.append("no transaction since you began to look", style=colours.dim)
        if view.fences:
            ago = duration((txns.now_us - view.fences[-1].at_us) / 1000)
            line.append(f" · fenced {ago} ago", style=f"bold {colours.error}")
        return line


def _producer(view: TransactionView, wide: bool) -> str:
    """Return the producer id and the epoch, or only the epoch."""
    return f"producer {view.producer_id} epoch {view.epoch}" if wide else f"e{view.epoch}"


def _square(state: str) -> str:
    return {WRITTEN: "■", UNKNOWN: "?"}.get(state, "□")


def _ended_words(view: TransactionView, wide: bool = True) -> str:
    """Return the last transaction's partitions and times, as far as they are known."""
    ended = view.ended
    if ended is None:
        return ""
    words = [plural(ended.partitions, "partition")] if wide else []
    if ended.open_us is not None:
        words.append(f"was open {duration(ended.open_us / 1000)}")
    if ended.markers_us is not None and wide:
        words.append(f"markers took {duration(ended.markers_us / 1000)}")
    return ", ".join(words)


class TransactionHead(Drawn):
    """The chosen id: its producer, its clock, each partition's marker, and the fenced producers."""

    subject = TRANSACTIONS

    def __init__(self, model: Model, choice: TransactionChoice) -> None:
        super().__init__(model, id="transaction-head")
        self.choice = choice

    def needs(self) -> int:
        """Return how many rows show everything."""
        view = self.choice.of(self.model.transactions)
        return 3 + max(len(view.fences), 1) if view is not None else 1

    def draw(self) -> Text:
        view, height = self.choice.of(self.model.transactions), max(self.size.height, 1)
        if view is None:
            return Text("")
        age_us = self.model.old_us(view.coordinator) if view.coordinator >= 0 else 0
        lines = aged(
            [self._who(view), self._clock(view), self._markers(view)], age_us, self.palette
        )
        lines += self._fences(view, height - len(lines))
        return stacked([coloured(line, self.palette) for line in lines[:height]], self.size.width)

    def _who(self, view: TransactionView) -> Text:
        colours = self.palette
        line = ink(view.transactional_id, "bold")
        line.append(f" · producer {view.producer_id}, epoch {view.epoch}", style="")
        client = f" · client {view.client}" if view.client else " · client ?"
        line.append(client, style="" if view.client else colours.dim)
        where = f"broker {view.coordinator}" if view.coordinator >= 0 else "not known"
        line.append(f" · coordinator {where}", style=colours.dim)
        if view.log_partition >= 0 and self.size.width >= _WIDE:
            line.append(f" (__transaction_state-{view.log_partition})", style=colours.dim)
        return line

    def _clock(self, view: TransactionView) -> Text:
        colours, txns = self.palette, self.model.transactions
        line = ink(view.state or UNKNOWN, "bold")
        if view.state == ONGOING:
            line.append(f" for {txns.open_words(view)} · transaction.timeout.ms ")
            left_us = view.left_us(txns.now_of(view.coordinator))
            if left_us is None:
                return line.append(UNKNOWN, style=colours.dim)
            line.append_text(time_left(left_us // 1000, view.timeout_ms, colours))
            then = ", then it aborts and fences the producer" if self.size.width >= _WIDE else ""
            return line.append(then, style=colours.dim)
        if view.changed_us is not None:
            line.append(f" for {duration(txns.ago_us(view, view.changed_us) / 1000)}")
        if view.state in PREPARED:
            words = f": it will {PREPARED[view.state]} when all its markers are written"
            line.append(words, style=colours.dim)
        elif view.ended is not None:
            line.append(f" · {_ended_words(view)}", style=colours.dim)
        if view.timeout_ms >= 0 and not view.open:
            line.append(f" · transaction.timeout.ms {duration(view.timeout_ms)}", style=colours.dim)
        return line

    def _markers(self, view: TransactionView) -> Text:
        """Draw each partition of the transaction, with its marker if the end is decided."""
        colours, txns = self.palette, self.model.transactions
        if not view.markers:
            line = ink("in the transaction: ", colours.dim)
            pieces = [ink(name) for name in view.partitions]
            if not pieces:
                return line.append("no partition", style=colours.dim)
        else:
            line = ink(f"markers {view.written} of {len(view.markers)} written: ", colours.dim)
            pieces = []
            for name, state in view.markers.items():
                piece = ink(f"{_square(state)} ", colours.ok if state == WRITTEN else "bold")
                style = "" if state == WRITTEN else f"bold {colours.warning}"
                if txns.glow.glows("marker", view.transactional_id, name):
                    style += f" on {colours.glow}"
                piece.append(name, style=style)
                if state not in (WRITTEN, WAITS, UNKNOWN):
                    piece.append(f" ({state})", style=colours.warning)
                pieces.append(piece)
        return _row_of(pieces, line, self.size.width, colours.dim)

    def _fences(self, view: TransactionView, rows: int) -> list[Text]:
        """Draw which producer was fenced by which other one, the newest first."""
        lines = []
        for fence in list(reversed(view.fences))[: max(rows, 0)]:
            ago = duration((self.model.transactions.now_us - fence.at_us) / 1000)
            line = ink("fenced ", f"bold {self.palette.error}").append(fence.words)
            lines.append(line.append(f" · {ago} ago", style=self.palette.dim))
        if rows > 0 and not lines:
            lines.append(ink("no producer was fenced since you began to look", self.palette.dim))
        return lines


def _row_of(pieces: Sequence[Text], line: Text, width: int, dim: str) -> Text:
    """Append the pieces that fit to a line, and then the number of the other pieces."""
    for number, piece in enumerate(pieces):
        left = len(pieces) - number
        room = width - line.cell_len - (12 if left > 1 else 0)
        if piece.cell_len + 2 > room and number:
            return line.append(f"and {left} more", style=dim)
        line.append_text(piece).append("  ")
    return line


class HeldLines(Lines):
    """The partitions of transactions: HW, LSO, which producer holds the LSO back, and since
    when.
    """

    subject = HELD_PARTITIONS
    heads = 1
    orders = (
        Order("partition"),
        Order("held back", greatest_first=True),
        Order("since", greatest_first=True),
    )

    def __init__(self, model: Model, choice: TransactionChoice) -> None:
        super().__init__(id="held")
        self.model = model
        self.choice = choice
        self._rows: list[PartitionRow] = []
        self._names = 0
        """The width of the partitions' column. A tick measures it once, for all lines."""

    def tick(self) -> None:
        transactions = self.model.transactions
        self._rows = transactions.rows(self.choice.of(transactions))
        self._names = column_width([str(row.held.key) for row in self._rows], _PARTITIONS)
        super().tick()

    def count(self) -> int:
        return len(self._rows) + 1 if self._rows else 0

    def empty(self) -> str:
        return "no partition has had a transaction since you began to look"

    def title_words(self) -> str:
        """Return the end of the list's title: its order, and what is not in view."""
        return f"{self.order_words(', the longest held first')}{self.out_of_view()}"

    def values(self, index: int) -> Mapping[str, Value | None]:
        row = self._rows[index - 1]
        now_us = self.model.transactions.now_us
        key = row.held.key
        return {
            "partition": f"{key.topic}-{key.partition:09}",
            "held back": row.held.held,
            "since": row.holder.held_us(now_us)[0] if row.holder is not None else None,
        }

    def line(self, index: int) -> Text:
        colours, wide = self.palette, self.scrollable_content_region.width >= _WIDE
        width, number = self._names, 12 if wide else 9
        if index == 0:
            named = self.column
            head = f"  {named('partition'):<{width}} lead {'HW':>{number}} {'LSO':>{number}}"
            return ink(f"{head} {named('held back'):>9}  held by, {named('since')}", colours.dim)
        row = self._rows[index - 1]
        held = row.held
        style = "bold"
        if self.model.transactions.glow.glows("held", held.key):
            style += f" on {colours.glow}"
        mine = str(held.key) in self._chosen()
        line = ink("▶ " if mine else "  ", "bold")
        line.append(f"{held.key.fitted(width):<{width}} ", style=style)
        leader = f"b{row.leader}" if row.leader >= 0 else "none"
        line.append(f"{leader:<4} ", style=f"bold {colours.broker(row.leader)}")
        known = self.model.cluster.partitions.get(held.key)
        age_us = self.model.age_of_offsets_us(known) if known is not None else NEVER
        hw, lso = (None, None) if age_us == NEVER else (held.hw, held.lso)
        rest = ink(f"{_offset(hw):>{number}} {_offset(lso):>{number}} ")
        behind = held.held if age_us != NEVER else None
        rest.append(f"{_offset(behind):>9}  ", style=f"bold {colours.warning}" if behind else "")
        return _with_age(line, rest, self._holder(row, wide), max(age_us, 0), colours)

    def _chosen(self) -> frozenset[str]:
        """Return the partitions of the chosen id's transaction."""
        view = self.choice.of(self.model.transactions)
        return frozenset((*view.partitions, *view.markers)) if view is not None else frozenset()

    def _holder(self, row: PartitionRow, wide: bool) -> Text:
        """Draw which transaction holds the LSO back, since when, and what it waits for."""
        colours, one = self.palette, row.holder
        if one is None:
            unknown = self.model.cluster.facts_only
            return ink(UNKNOWN if unknown else "nobody", colours.dim)
        line = Text("")
        if row.hangs:
            line.append("✕ hangs: ", style=f"bold {colours.error}")
        name = row.transaction.transactional_id if row.transaction is not None else ""
        who = name or f"producer {one.producer_id}"
        line.append(who, style="bold")
        line.append(f", {age_words(one.held_us(self.model.transactions.now_of(row.leader)))}")
        if one.marker_offset >= 0:
            words = f" · its marker at {count(one.marker_offset)} is not replicated yet"
            line.append(words, style=colours.warning)
        line.append(self._more(row, one, bool(name), wide), style=colours.dim)
        return line

    @staticmethod
    def _more(row: PartitionRow, one: OpenInLog, named: bool, wide: bool) -> str:
        more = row.held.open_count - 1
        words = f" · {more} more behind it" if more > 0 else ""
        producer = f"producer {one.producer_id} " if named and wide else ""
        return f"{words} · {producer}epoch {one.epoch}, from {count(one.first_offset)}"


def _with_age(line: Text, facts: Text, news: Text, age_us: int, colours: Palette) -> Text:
    """Append facts and news to a line. If they are old, they are dimmed, with their age between
    them.

    So a line that is too long loses the end of its news, and never its age.
    """
    line.append_text(aged([facts], age_us, colours)[0])
    return line.append_text(ink(f"  {news.plain}", colours.dim) if age_us else news)


def _offset(offset: int | None) -> str:
    return UNKNOWN if offset is None else count(offset)
