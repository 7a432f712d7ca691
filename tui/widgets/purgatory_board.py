"""The widgets of the Purgatory screen: the purgatories, the waiting operations, and the ended
ones.
"""

from collections.abc import Mapping
from typing import Final

from rich.text import Text
from textual.events import Click
from textual.message import Message

from kafka_edu.instruments.waiting import (
    HIGH_WATERMARK,
    left_ms,
    missing,
    needed,
    patience,
    since,
    title,
    what_would_finish,
)
from kafka_edu.trace.events.purgatory import Requirement

from ..model import Model
from ..palette import Palette
from ..subjects import ENDED, PURGATORY
from ..view_model.figures import duration, old
from ..view_model.purgatory_view import ALL, OperationKey, PurgatoryView, WaitingView
from .drawn import Drawn, Lines, Order, Value, ink, stacked
from .event_text import coloured, wall_clock
from .prose import folded, gauge

_BAR: Final = 12
_NEEDS_SHOWN: Final = 3
_ROOMY: Final = 90
"""From this width on, sentences have a column of their own."""


class PurgatoryChoice:
    """The reader's choice: the purgatories of one broker or of all, with one name or with any
    name.
    """

    def __init__(self) -> None:
        self.broker: int | None = None
        self.name = ALL
        self.operation: OperationKey | None = None
        """The operation under the cursor. It stays chosen when other operations come and go."""

    def settle(self, view: PurgatoryView) -> None:
        """If the chosen broker is gone, choose all brokers again. If the chosen purgatory is gone,
        choose all purgatories.
        """
        if self.broker is not None and self.broker not in view.brokers():
            self.broker = None
        if self.name != ALL and self.name not in view.names(self.broker):
            self.name = ALL

    def move_broker(self, view: PurgatoryView, by: int) -> None:
        choices: list[int | None] = [None, *view.brokers()]
        at = choices.index(self.broker) if self.broker in choices else 0
        self.broker = choices[(at + by) % len(choices)]
        self.settle(view)
        self._let_go(view)

    def move_name(self, view: PurgatoryView, by: int) -> None:
        choices = [ALL, *view.names(self.broker)]
        at = choices.index(self.name) if self.name in choices else 0
        self.name = choices[(at + by) % len(choices)]
        self._let_go(view)

    def _let_go(self, view: PurgatoryView) -> None:
        """Drop the chosen operation if it does not wait in the newly chosen purgatories."""
        if self.operation_of(view) is None:
            self.operation = None

    def waiting(self, view: PurgatoryView) -> list[WaitingView]:
        return view.waiting(self.broker, self.name)

    def operation_of(self, view: PurgatoryView) -> WaitingView | None:
        return next((one for one in self.waiting(view) if one.key == self.operation), None)


class PurgatoryTabs(Drawn):
    """The brokers and their purgatories. Each shows the number of operations that wait in it."""

    subject = PURGATORY

    class Chosen(Message):
        """A message: a broker or a purgatory was clicked."""

    def __init__(self, model: Model, choice: PurgatoryChoice) -> None:
        super().__init__(model, id="purgatories")
        self.choice = choice
        self._places: list[tuple[int, int, int, int | None, str]] = []

    def draw(self) -> Text:
        view, colours, choice = self.model.purgatory, self.palette, self.choice
        places: list[tuple[int, int, int, int | None, str]] = []
        narrow = self.size.height < 2
        first = ink("broker " if narrow else "broker     ", colours.dim)
        second = ink("in " if narrow else "purgatory  ", colours.dim)
        brokers: list[int | None] = [None, *view.brokers()]
        for broker in brokers:
            begin = first.cell_len
            style = colours.broker(broker) if broker is not None else ""
            _tab(first, "all" if broker is None else str(broker), broker == choice.broker, style)
            places.append((0, begin, first.cell_len, broker, choice.name))
        for name in [ALL, *view.names(choice.broker)]:
            begin = second.cell_len
            waits = view.delayed(choice.broker, name)
            if narrow and not waits and name not in (ALL, choice.name):
                continue
            style = "" if waits else colours.dim
            _tab(second, f"{name or 'all'} {waits:,}", name == choice.name, style)
            places.append((1, begin, second.cell_len, choice.broker, name))
        if self.size.height < 2:
            at = first.cell_len
            places = [
                (0, begin + at * line, end + at * line, broker, name)
                for line, begin, end, broker, name in places
            ]
            first.append_text(second)
        self._places = places
        return stacked([first] if self.size.height < 2 else [first, second], self.size.width)

    def on_click(self, event: Click) -> None:
        at = event.get_content_offset_capture(self)
        for line, begin, end, broker, name in self._places:
            if at.y == line and begin <= at.x < end:
                self.choice.broker, self.choice.name = broker, name
                self.post_message(self.Chosen())


def _tab(line: Text, words: str, chosen: bool, style: str) -> None:
    line.append(
        f"[{words}]" if chosen else f" {words} ",
        style=f"bold reverse {style}" if chosen else style,
    )
    line.append(" ")


class PurgatoryAnswer(Drawn):
    """One line: which requests wait, and for which broker."""

    subject = PURGATORY

    def __init__(self, model: Model, choice: PurgatoryChoice) -> None:
        super().__init__(model, id="purgatory-answer")
        self.choice = choice

    def draw(self) -> Text:
        view, colours = self.model.purgatory, self.palette
        kind, words = view.answer(self.choice.broker, self.choice.name)
        if unknown := self.model.unsampled():
            kind, words = "warning", f"? {unknown}"
        line = coloured(ink(words, f"bold {colours.verdict(kind)}"), colours)
        for broker in view.brokers():
            if (silent_us := view.silent_us(broker)) and not words.startswith("?"):
                note = f"   broker {broker} is silent: its list is {old(silent_us)}"
                if line.cell_len + len(note) <= self.size.width:
                    line.append(note, style=colours.dim)
        line.truncate(self.size.width, overflow="ellipsis")
        return line


class OperationLines(Lines):
    """One line for each operation: its kind, its client, its age, and the missing broker."""

    subject = PURGATORY
    orders = (
        Order("deadline"),
        Order("client"),
        Order("broker"),
        Order("operation"),
        Order("age", greatest_first=True),
    )

    def __init__(self, model: Model, choice: PurgatoryChoice) -> None:
        super().__init__(id="operations")
        self.model = model
        self.choice = choice
        self._rows: list[WaitingView] = []

    def tick(self) -> None:
        """Update the waiting operations. The cursor stays on its operation as long as this
        operation waits.
        """
        self._rows = self.choice.waiting(self.model.purgatory)
        keys = [row.key for row in self._rows]
        if self.choice.operation in keys:
            self.cursor = keys.index(self.choice.operation)
        elif self.choice.operation is None or not self.has_focus_on_ended():
            self.cursor = min(self.cursor, max(len(keys) - 1, 0))
            self.choice.operation = keys[self.cursor] if keys else None
        super().tick()

    def values(self, index: int) -> Mapping[str, Value | None]:
        row = self._rows[index]
        return {
            "deadline": left_ms(row.facts, self.model.purgatory.as_of_ms(row)),
            "client": row.facts.client or None,
            "broker": row.broker,
            "operation": row.facts.label,
            "age": -row.begun_ms,
        }

    def has_focus_on_ended(self) -> bool:
        """Return whether the chosen operation has ended and its end is known. Such an operation
        stays chosen.
        """
        key = self.choice.operation
        return key is not None and self.model.purgatory.completion(key) is not None

    def cursor_moved(self) -> None:
        if self.cursor < len(self._rows):
            self.choice.operation = self._rows[self.cursor].key

    def count(self) -> int:
        return len(self._rows)

    def empty(self) -> str:
        if not self.model.purgatory.purgatories:
            return self.model.unsampled() or "no broker has reported its purgatories yet"
        return "nothing waits here now"

    def line(self, index: int) -> Text:
        view, colours = self.model.purgatory, self.palette
        row = self._rows[index]
        width, facts = self.scrollable_content_region.width, row.facts
        mark = "▶ " if row.key == self.choice.operation else "  "
        age_ms, old_us = view.age_ms(row), view.silent_us(row.broker)
        right = ink(f"{duration(age_ms):>8} ", "" if row.patient else f"bold {colours.warning}")
        part = patience(facts._replace(age_ms=age_ms), view.as_of_ms(row))
        if width >= 50:
            full, rest = gauge(part, _BAR)
            right.append(full, style="" if row.patient else colours.warning)
            right.append(f"{rest} ", style=colours.dim)
        line = ink(mark, "bold")
        line.append(f"b{row.broker} ", style=f"bold {colours.broker(row.broker)}")
        line.append(title(facts), style=colours.dim if row.patient else "bold")
        behind = sorted({m.broker for need in facts.why for m in missing(need)})
        if behind and width >= 60:
            line.append("  ✗ ", style=colours.error)
            for broker in behind:
                line.append(f"b{broker} ", style=f"bold {colours.broker(broker)}")
        note = f"  {old(old_us)}" if old_us else ""
        line.truncate(max(width - right.cell_len - len(note) - 1, 10), overflow="ellipsis")
        line.append(note)
        line.pad_right(max(width - right.cell_len - line.cell_len, 0))
        line.append_text(right)
        return ink(line.plain, colours.dim) if old_us else line


class OperationDetail(Drawn):
    """The chosen operation: its keys, its requirements, each replica's state, and what would end
    it.
    """

    subject = PURGATORY

    def __init__(self, model: Model, choice: PurgatoryChoice) -> None:
        super().__init__(model, id="operation")
        self.choice = choice

    def draw(self) -> Text:
        row = self.choice.operation_of(self.model.purgatory)
        lines = self._waits(row) if row is not None else self._has_ended()
        return stacked(lines[: max(self.size.height, 1)], self.size.width)

    def _waits(self, row: WaitingView) -> list[Text]:
        view, colours, width = self.model.purgatory, self.palette, self.size.width
        facts, now_ms, old_us = row.facts, view.as_of_ms(row), view.silent_us(row.broker)
        head = ink(title(facts), "bold")
        head.append(" · ", style=colours.dim)
        head.append(f"broker {row.broker}", style=f"bold {colours.broker(row.broker)}")
        if facts.keys:
            noun = "key" if len(facts.keys) == 1 else "keys"
            head.append(f" · {facts.purgatory}, {noun} {', '.join(facts.keys)}", style=colours.dim)
        age_ms = view.age_ms(row)
        left = left_ms(facts, now_ms)
        bar = ink("waited " if old_us else "waits ", colours.dim)
        bar.append(f"{duration(age_ms)} ", style=f"bold {colours.warning}")
        room = max(min(width - bar.cell_len - 20, 60), 8)
        full, rest = gauge(patience(facts._replace(age_ms=age_ms), now_ms), room)
        bar.append(full, style=colours.warning).append(rest, style=colours.dim)
        bar.append(f" deadline in {duration(left)}" if not old_us else f" {old(old_us)}")
        lines = [head, bar]
        *finishes, deadline = what_would_finish(facts, now_ms)
        sentences = [*finishes[:_NEEDS_SHOWN], f"or {deadline}" if finishes else deadline]
        label = "would finish it: "
        indent = len(label) if width >= _ROOMY else 2
        for number, sentence in enumerate(sentences):
            first = label if number == 0 else " " * indent
            words = folded(first + sentence, width, 0, indent)
            line = Text(words[0] if number == 0 else first + words[0].lstrip())
            if number == 0:
                line.stylize(f"bold {colours.ok}", 0, len(label) - 1)
            lines.append(coloured(line, colours))
            lines += [coloured(Text(text), colours) for text in words[1:]]
        for need in facts.why[:_NEEDS_SHOWN]:
            lines += self._need(need, now_ms)
        if len(facts.why) > _NEEDS_SHOWN:
            lines.append(ink(f"  … and {len(facts.why) - _NEEDS_SHOWN} more", colours.dim))
        return [ink(line.plain, colours.dim) for line in lines] if old_us else lines

    def _need(self, need: Requirement, now_ms: int) -> list[Text]:
        """Draw the offset that a request waits for, and each replica's LEO.

        Replicas that lag behind are listed first.
        """
        colours, width = self.palette, self.size.width
        lines = [coloured(ink("needs ", colours.dim).append(needed(need), style="bold"), colours)]
        if need.needs != HIGH_WATERMARK:
            return lines
        leos = dict(need.holders)
        behind = missing(need)
        for one in behind:
            row = ink("  ✗ ", f"bold {colours.error}")
            row.append(f"broker {one.broker} ", style=f"bold {colours.broker(one.broker)}")
            leo = leos.get(f"broker {one.broker}", -1)
            row.append(f"LEO {leo:,}: " if leo >= 0 else "LEO unknown: ")
            row.append(f"{one.behind:,} behind", style=f"bold {colours.error}")
            if words := since(one, now_ms):
                row.append(f", {words}", style=colours.warning)
            lines.append(row)
        late = {f"broker {one.broker}" for one in behind}
        row = Text("  ")
        for who, have in need.holders:
            if who not in late:
                cell = ink("✓ ", f"bold {colours.ok}").append(f"{who} LEO {have:,}   ")
                if row.cell_len > 2 and row.cell_len + cell.cell_len > width:
                    lines.append(coloured(row, colours))
                    row = Text("  ")
                row.append_text(cell)
        return [*lines, coloured(row, colours)] if row.cell_len > 2 else lines

    def _has_ended(self) -> list[Text]:
        """Draw how the chosen operation ended, if its broker has reported it."""
        view, colours, key = self.model.purgatory, self.palette, self.choice.operation
        done = view.completion(key) if key is not None else None
        if done is None:
            return [
                ink(
                    "Choose an operation with ↑ ↓ to see what it needs and what would finish it.",
                    colours.dim,
                )
            ]
        head = ink("✓ ended ", f"bold {colours.ok}")
        head.append(_name(done.facts.label, done.facts.client, done.facts.correlation_id), "bold")
        cause = ink(f"  after {duration(done.facts.waited_ms)}: ").append(done.cause, style="bold")
        return [head, coloured(cause, colours), ink("  ⏎ there: its causes", colours.dim)]


def _name(label: str, client: str, correlation_id: int) -> str:
    return (
        f"{label} from {client or 'a client'} #{correlation_id}" if correlation_id >= 0 else label
    )


class EndedCounts(Drawn):
    """The causes that ended operations in the last ten seconds, with their counts."""

    subject = ENDED

    def __init__(self, model: Model, choice: PurgatoryChoice) -> None:
        super().__init__(model, id="ended-counts")
        self.choice = choice
        self.brief = False
        """Whether to leave out the headings, because there are few rows."""

    def draw(self) -> Text:
        view, colours, width = self.model.purgatory, self.palette, self.size.width
        ends = view.ended(self.choice.broker, self.choice.name)
        head = ink("ended in the last 10 s", "bold")
        right = "times  typical wait"
        head.pad_right(max(width - head.cell_len - len(right), 1))
        head.append(right, style=colours.dim)
        lines = [] if self.brief else [head]
        if not ends:
            counted = view.counts_causes(self.choice.broker, self.choice.name)
            words = (
                "nothing" if counted else "causes are counted since you began to look; none so far"
            )
            silence = view.silence(self.choice.broker)
            words = "?" if self.model.unsampled() else f"? {old(silence)}" if silence else words
            lines.append(ink(words, colours.dim))
        for end in ends[: max(self.size.height - len(lines), 1)]:
            line = ink(*_cause_sign(end.cause, colours))
            line.append_text(coloured(Text(end.cause), colours))
            figures = f"{end.times:>6,} {duration(end.typical_ms):>8}"
            line.truncate(max(width - len(figures) - 1, 8), overflow="ellipsis")
            line.pad_right(max(width - len(figures) - line.cell_len, 0))
            lines.append(line.append(figures, style="bold"))
        return stacked(lines, width)


def _cause_sign(cause: str, colours: Palette) -> tuple[str, str]:
    """Return a sign for a cause: ✓ the requirements were met, ◷ time-out, ✗ an error."""
    if "time-out" in cause or "delay is over" in cause:
        return "◷ ", f"bold {colours.warning}"
    good = ("HW moved", "bytes for", "at once", "a sign", "all ", "the metadata", "the last")
    if cause.startswith(good):
        return "✓ ", f"bold {colours.ok}"
    return "✗ ", f"bold {colours.error}"


class EndedLines(Lines):
    """The operations that ended after a long wait, one by one, the newest at the bottom."""

    subject = ENDED

    def __init__(self, model: Model) -> None:
        super().__init__(id="ended", follow=True)
        self.model = model

    def count(self) -> int:
        return len(self.model.purgatory.completions)

    def empty(self) -> str:
        return "no request has waited longer than 100 ms since you began to look"

    def line(self, index: int) -> Text:
        colours, done = self.palette, self.model.purgatory.completions[index]
        facts = done.facts
        line = ink(wall_clock(done.envelope.wall_ms)[:8], colours.dim)
        broker = done.envelope.broker
        line.append(f" b{broker} ", style=f"bold {colours.broker(broker)}")
        line.append(*_cause_sign(done.cause, colours))
        line.append(f"{duration(facts.waited_ms)} ", style="bold")
        line.append_text(coloured(Text(done.cause), colours))
        line.append(
            f"  {_name(facts.label, facts.client, facts.correlation_id)}", style=colours.dim
        )
        return line
