"""The widgets of the Log screen: a broker's logs, and the segments of one log, to scale."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from rich.text import Text

from kafka_edu.common.words import plural
from kafka_edu.trace.events.log import LogForecast, SegmentState

from ..model import Model
from ..subjects import LOGS, SEGMENTS
from ..view_model.figures import count, duration, old, size
from ..view_model.log_view import (
    NO_CLEANING,
    UNKNOWN,
    LogName,
    LogView,
    Pass,
    deletion_time,
    is_due,
    words_of,
)
from .answer_line import answer_line
from .broker_choice import BrokerChoice
from .drawn import Drawn, Order, Value, ink, stacked
from .partition_lines import PartitionChoice, PartitionLines

FULL, ACTIVE, GHOST, TRACK = "█", "▓", "░", "·"
_NAME_WIDTH: Final = 30
"""The width, in columns, of a segment's file name with a space on each side."""
_ROOMY: Final = 12
"""From this number of rows on the recovery point has a row of its own."""


class LogChoice(PartitionChoice):
    """The broker and the partition whose log the screen shows."""

    def __init__(self) -> None:
        super().__init__()
        self._broker = BrokerChoice()

    def broker(self, model: Model) -> int | None:
        """Return the chosen broker, or the first broker with a known log."""
        return self._broker.of(model.logs.brokers())

    def move(self, model: Model, by: int) -> None:
        """Choose the next broker."""
        self._broker.move(model.logs.brokers(), by)

    def log(self, model: Model) -> LogView | None:
        """Return the chosen log, or None if the broker has no replica of the partition."""
        broker = self.broker(model)
        if broker is None or self.key is None:
            return None
        return model.logs.by_name.get(LogName(broker, self.key))


class LogAnswer(Drawn):
    """One line: what happens to the logs next."""

    subject = LOGS

    def draw(self) -> Text:
        return answer_line(self, self.model.logs.answer(self.model.unheard()))


class LogHead(Drawn):
    """The names of the columns."""

    subject = LOGS

    def __init__(self, model: Model, lines: "LogLines") -> None:
        super().__init__(model, id="log-head")
        self._lines = lines

    def draw(self) -> Text:
        named = self._lines.column
        head = f"{'  ' + named('partition'):<{self._lines.name_width}}"
        head += f"{named('size'):>10}{named('segments'):>10}{named('start'):>12}{named('LEO'):>12}"
        line = ink(head + "  what happens next", f"bold {self.palette.dim}")
        line.truncate(self.size.width, overflow="ellipsis")
        return line


class LogLines(PartitionLines[LogView]):
    """One line for each log of the broker. Empty logs of internal topics share one line."""

    subject = LOGS
    orders = (
        Order("partition"),
        Order("size", greatest_first=True),
        Order("segments", greatest_first=True),
        Order("start", greatest_first=True),
        Order("LEO", greatest_first=True),
    )

    def __init__(self, model: Model, choice: LogChoice) -> None:
        super().__init__(model, choice, id="logs")
        self._of_broker = choice.broker

    def tick(self) -> None:
        """List the logs of the broker."""
        broker = self._of_broker(self.model)
        logs = self.model.logs.of_broker(broker) if broker is not None else []
        shown = [log for log in logs if self.choice.unfolded or not _folds(log)]
        longest = max((len(str(log.key)) for log in logs), default=0)
        self.put(shown, len(logs) - len(shown), longest)
        super().tick()

    def row_values(self, row: LogView) -> Mapping[str, Value | None]:
        return {
            "size": row.size,
            "segments": len(row.segments),
            "start": row.log_start,
            "LEO": row.log_end,
        }

    def empty(self) -> str:
        return "no logs yet: press l to make a topic and to produce, or use any client"

    def line(self, index: int) -> Text:
        colours = self.palette
        row = self._rows[index]
        if isinstance(row, int):
            words = f"▸ {plural(row, 'log')} of internal topics · ⏎ unfolds"
            return ink(words, colours.dim)
        line = self.draw_name(row.key)
        aged = colours.dim if self.model.old_us(row.name.broker) else ""
        unknown = self.model.size_unknown(row)
        bytes_, end = ("?", "?") if unknown else (size(row.size), _offset(row.log_end))
        line.append(f"{bytes_:>10}{len(row.segments):>10}", style=aged)
        line.append(f"{_offset(row.log_start):>12}{end:>12}  ", style=aged)
        words, kind = next_words(row, self.model.logs.now_ms)
        styles = {"error": f"bold {colours.error}", "soon": f"bold {colours.warning}"}
        return line.append(words, style=styles.get(kind, colours.dim))


def _folds(log: LogView) -> bool:
    """Return whether a log has no line of its own, but shares the line of the internal topics.

    This is so if the log belongs to an internal topic, is empty, has at most one segment, and has
    no failure, no trouble and no cleaning.
    """
    return (
        log.internal
        and not log.failed
        and not log.trouble
        and log.cleaning_since_us == NO_CLEANING
        and len(log.segments) < 2
        and not log.size
    )


def _offset(offset: int) -> str:
    return count(offset) if offset >= 0 else "?"


def next_words(log: LogView, now_ms: int) -> tuple[str, str]:
    """Return what will happen to a log next, and its kind: `error`, `soon` or `later`."""
    if log.failed:
        return f"✕ its dir has failed: {log.failed}", "error"
    if log.trouble:
        return "⚠ the cleaner cannot read it", "error"
    if log.cleaning_since_us != NO_CLEANING:
        return "is being compacted", "soon"
    words: list[str] = []
    kind = "later"
    if log.cleaner is not None and log.cleaner.state == "due":
        words.append(f"{log.dirty_percent()} % dirty: the cleaner takes it next")
        kind = "soon"
    forecast = log.forecast
    if forecast is None:
        return "?", "later"
    if forecast.reason:
        words.append(f"{forecast.reason} takes a segment {deletion_time(forecast, now_ms)}")
        kind = "soon" if is_due(forecast, now_ms) else kind
    if forecast.doomed:
        words.append(f"{plural(len(forecast.doomed), 'deleted segment')} still on the disk")
    if not words and log.cleaner is not None:
        words.append(f"compacted: {log.cleaner.state}")
    return " · ".join(words) or "keeps everything", kind


class SegmentBoard(Drawn, can_focus=True):
    """The chosen log: offsets, segments as bars to scale, the cleaner, and deleted segments."""

    subject = SEGMENTS

    def __init__(self, model: Model, choice: LogChoice) -> None:
        super().__init__(model, id="segments")
        self.choice = choice

    def draw(self) -> Text:
        colours, log = self.palette, self.choice.log(self.model)
        if log is None:
            return ink("choose a log with ↑ ↓, a broker with ← →", colours.dim)
        rows = max(self.size.height, 1)
        tail = [*self._cleaner_lines(log), *self._ghost_lines(log)]
        head = [self._title(log), *self._ruler(log)]
        tail = tail[: max(rows // 4, 1)]  # the segments need most of the room
        room = max(rows - len(head) - len(tail), 1)
        lines = [*head, *self._segment_lines(log, room), *tail]
        age_us = self.model.old_us(log.name.broker)
        if age_us or log.failed:
            lines = [ink(line.plain, colours.dim) for line in lines]
            why = f"  ✕ {log.failed}" if log.failed else f"  {old(age_us)}"
            lines[0].append(why, style=f"bold {colours.warning}")
        return stacked(lines[:rows], self.size.width)

    def _title(self, log: LogView) -> Text:
        colours, forecast = self.palette, log.forecast
        line = ink(str(log.name.key), "bold")
        line.append(" on ", style=colours.dim)
        line.append(f"broker {log.name.broker}", style=f"bold {colours.broker(log.name.broker)}")
        bytes_ = "size ?" if self.model.size_unknown(log) else size(log.size)
        line.append(f" · {plural(len(log.segments), 'segment')} · {bytes_}")
        if forecast is not None:
            line.append(f" · cleanup.policy {forecast.policy or 'none'}", style=colours.dim)
        line.append(f" · {log.log_dir}", style=colours.dim)
        return line

    def _ruler(self, log: LogView) -> list[Text]:
        """Draw the offsets of the log as a line.

        Above it are the limits for readers and for the cleaner, below it the recovery point.
        """
        colours, width = self.palette, max(self.size.width - 2, 20)
        if min(log.log_start, log.log_end) < 0 or self.model.size_unknown(log):
            return [ink("offsets: not known, there is no snapshot of this time", colours.dim)]
        left, right = f"{count(log.log_start)} ", f" {count(log.log_end)} LEO"
        scale = OffsetScale(
            log.log_start, log.log_end, max(width - len(left) - len(right), 8), len(left)
        )
        track = ["─"] * scale.cells
        for base in log.segments:
            if log.log_start < base:
                track[scale.column(base)] = "┬"
        above, below = [" "] * width, [" "] * width
        for word, offset, row, mark in (
            *((word, offset, above, "▼") for word, offset in self._limits(log)),
            ("recovery point", log.recovery_point, below, "▲"),
        ):
            if log.log_start <= offset <= log.log_end:
                track[scale.column(offset)] = mark
                scale.write(row, f"{word} {count(offset)}", offset)
        line = ink(left, "bold")
        line.append("".join(track), style=colours.dim)
        line.append(right, style="bold")
        rows = [ink("".join(above).rstrip(), colours.dim), line]
        if self.size.height >= _ROOMY:
            rows.append(ink("".join(below).rstrip(), colours.dim))
        return rows

    def _limits(self, log: LogView) -> list[tuple[str, int]]:
        """Return the limits above the line as (label, offset), the most important first."""
        found: list[tuple[str, int]] = []
        if log.forecast is not None:
            found.append(("HW", log.forecast.high_watermark))
            if log.forecast.last_stable_offset != log.forecast.high_watermark:
                found.append(("LSO", log.forecast.last_stable_offset))
        if log.cleaner is not None:
            found.append(("dirty from", log.cleaner.first_dirty))
        return found

    def _segment_lines(self, log: LogView, room: int) -> list[Text]:
        """Draw the segments, the oldest first. Without room for all, leave out the middle ones."""
        segments = list(log.segments.values())
        largest = max((one.size for one in segments), default=0)
        if log.forecast is not None and len(segments) < 2:
            largest = max(largest, min(log.forecast.roll_bytes, 4 * largest))
        if len(segments) <= room:
            return [self._segment(log, one, largest) for one in segments]
        first = max((room - 1) // 2, 0)
        last = max(room - 1 - first, 1)
        left_out = segments[first : len(segments) - last]
        words = f"  … {plural(len(left_out), 'segment')} more"
        words += f", {size(sum(one.size for one in left_out))}"
        lines = [self._segment(log, one, largest) for one in segments[:first]]
        if room > 1:
            lines.append(ink(words, self.palette.dim))
        return [*lines, *(self._segment(log, one, largest) for one in segments[-last:])]

    def _segment(self, log: LogView, segment: SegmentState, largest: int) -> Text:
        colours = self.palette
        active = segment.base_offset == next(reversed(log.segments))
        oldest = segment.base_offset == next(iter(log.segments))
        line = ink(f" {segment.base_offset:020d}.log", "" if active else colours.text)
        line.pad_right(_NAME_WIDTH - line.cell_len)
        cells = 20 if self.size.width < 100 else 32 if self.size.width < 150 else 48
        filled = _cells(segment.size, largest, cells)
        colour = colours.broker(log.name.broker)
        line.append((ACTIVE if active else FULL) * filled, style=colour)
        line.append(TRACK * (cells - filled), style=colours.dim)
        unknown = active and self.model.size_unknown(log)
        line.append(f"{'?' if unknown else size(segment.size):>9}  ", style="bold")
        notes = []
        if oldest and log.forecast is not None:
            notes.append(_oldest_note(log.forecast, self.model.logs.now_ms))
        if active:
            notes.append(_active_note(log.forecast, segment, self.model.logs.now_ms))
        if segment.index_entries >= 0 and not unknown:
            notes.append(f"{segment.index_entries:,} index entries")
        soon = oldest and log.forecast is not None and is_due(log.forecast, self.model.logs.now_ms)
        words = " · ".join(note for note in notes if note)
        return line.append(words, style=f"bold {colours.warning}" if soon else colours.dim)

    def _cleaner_lines(self, log: LogView) -> list[Text]:
        colours, cleaner = self.palette, log.cleaner
        if log.trouble:
            return [ink(f" cleaner: leaves the log alone, {log.trouble}", f"bold {colours.error}")]
        if cleaner is None:
            return []
        whole = cleaner.clean_bytes + cleaner.dirty_bytes
        least = round(100 * cleaner.due_above_bytes / whole) if whole else 0
        percent, cells = log.dirty_percent(), 20
        filled = _cells(cleaner.dirty_bytes, whole, cells)
        line = ink(" cleaner: dirty ▕", colours.dim)
        line.append("█" * filled, style=colours.warning)
        line.append(TRACK * (cells - filled) + "▏ ", style=colours.dim)
        line.append(f"{percent} % of {size(whole)}", style="bold")
        line.append(f", due above {least} %: ", style=colours.dim)
        busy = cleaner.state in ("due", "being cleaned")
        line.append(cleaner.state, style=f"bold {colours.warning}" if busy else colours.dim)
        lines = [line]
        if log.last_pass is not None:
            lines.append(self._pass_line(log.last_pass))
        return lines

    def _pass_line(self, done: Pass) -> Text:
        ago_ms = max(self.model.logs.now_us - done.at_us, 0) // 1000
        lost = [
            f"{number:,} {what}"
            for number, what in (
                (done.superseded, "superseded by a later record"),
                (done.tombstones, "old tombstones"),
                (done.aborted, "aborted"),
                (done.markers, "markers"),
                (done.without_key, "without a key"),
            )
            if number
        ]
        words = (
            f" last pass {duration(ago_ms)} ago: {done.gone:,} of {done.records_before:,} records"
            f" gone, {size(done.bytes_before)} → {size(done.bytes_after)}"
        )
        return ink(words + (f" ({', '.join(lost)})" if lost else ""), self.palette.dim)

    def _ghost_lines(self, log: LogView) -> list[Text]:
        """Draw at most three segments that have left the log but whose files still exist."""
        due = {one.base_offset: one.at_ms for one in log.forecast.doomed} if log.forecast else {}
        lines = []
        for base, bytes_ in list(log.ghosts.items())[:3]:
            line = ink(f" {base:020d}.log.deleted {GHOST * 6} {size(bytes_)}", self.palette.dim)
            if base in due:
                left = words_of(due[base] - self.model.logs.now_ms)
                line.append(f" · gone from the disk in {left}", style=self.palette.dim)
            lines.append(line)
        if len(log.ghosts) > 3:
            lines[-1].append(f" · and {len(log.ghosts) - 3} more", style=self.palette.dim)
        return lines


class OffsetScale(NamedTuple):
    """Maps offsets from `low` to `high` to columns from 0 to `cells` - 1 of a line that begins in
    column `margin` of the widget.
    """

    low: int
    high: int
    cells: int
    margin: int

    def column(self, offset: int) -> int:
        span = max(self.high - self.low, 1)
        at = (offset - self.low) * (self.cells - 1) // span
        return min(max(at, 0), self.cells - 1)

    def write(self, row: list[str], label: str, offset: int) -> None:
        """Write a label into a row of characters, at the column of its offset.

        The label ends there, or begins there if there is no room before it. If neither fits, it is
        left out.
        """
        at = self.margin + self.column(offset)
        for begins in (at - len(label) + 1, at):
            ends = begins + len(label)
            if begins >= 0 and ends <= len(row):
                around = row[max(begins - 1, 0) : ends + 1]
                if all(cell == " " for cell in around):
                    row[begins:ends] = label
                    return


def _cells(part: int, whole: int, cells: int) -> int:
    """Return how many of the `cells` a part of `whole` fills. A part above 0 fills at least one."""
    if part <= 0 or whole <= 0:
        return 0
    return min(max(round(cells * part / whole), 1), cells)


def _oldest_note(forecast: LogForecast, now_ms: int) -> str:
    if not forecast.reason:
        return ""
    age = ""
    if forecast.newest_record_ms >= 0:
        age = f"newest record {words_of(now_ms - forecast.newest_record_ms)} old · "
    return f"{age}{forecast.reason} takes it {deletion_time(forecast, now_ms)}"


def _active_note(forecast: LogForecast | None, segment: SegmentState, now_ms: int) -> str:
    if forecast is None:
        return "active"
    more = size(max(forecast.roll_bytes - segment.size, 0))
    if forecast.rolls_at_ms == UNKNOWN:
        return f"active · rolls after {more} more"
    left_ms = forecast.rolls_at_ms - now_ms
    later = "now" if left_ms <= 0 else f"in {words_of(left_ms)}"
    return f"active · rolls after {more} more, or with a record {later}"
