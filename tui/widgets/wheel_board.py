"""The wheels of one timer: dials side by side if there is room, and otherwise bars for each level.

Slots keep their places, and the hand moves. On a dial, slot 0 is at twelve o'clock and the hand
moves clockwise.
"""

import math
from typing import Final

from rich.text import Text

from kafka_edu.common.words import plural

from ..model import Model
from ..palette import Palette
from ..subjects import WHEELS
from ..view_model.descent import Descent, descent
from ..view_model.figures import column, count, duration, old, per_second, short_count, span
from ..view_model.wheels_view import TimerKey, TimerView, WheelView
from .drawn import Drawn, aged, ink, stacked

HAND, NEXT, EMPTY = "▲", "◆", "·"
LEFT, CAME = "↓", "+"
"""The signs of a slot whose tasks have just come down, and of one that has just got tasks."""
LIES, LAY = "●", "○"
"""The signs of slow motion: the slot where the task is, and a slot where it was before."""
_DIAL_ROWS: Final = 9
"""The minimum height of a dial in rows. With more room, dials are larger."""
_DIAL_COLUMNS: Final = 24
_CAPTION_ROWS: Final = 4
_NUMBERED: Final = 5
"""Every fifth slot on a dial shows its number."""


class WheelBoard(Drawn, can_focus=True):
    """Shows the wheels of the chosen timer, or a sentence that says why there is none."""

    subject = WHEELS

    def __init__(self, model: Model) -> None:
        super().__init__(model, id="wheels")
        self.key: TimerKey | None = None
        self._descent: Descent | None = None
        """The task that slow motion replays. During the replay, the board shows this task's
        timer.
        """

    @property
    def timer(self) -> TimerView | None:
        key = self._descent.key if self._descent is not None else self.key
        return self.model.wheels.timers.get(key) if key is not None else None

    def draw(self) -> Text:
        self._descent = descent(self.model.motion)
        if self._descent is not None and self._descent.key not in self.model.wheels.timers:
            self._descent = None
        timer, colours = self.timer, self.palette
        if timer is None:
            nothing = "no timers yet: a running broker has one for each of its purgatories"
            return ink(self.model.unsampled() or nothing, colours.dim)
        wheels = [timer.wheels[level] for level in sorted(timer.wheels)]
        width, height = self.size.width, self.size.height
        old_us = self.model.old_us(timer.key.broker)
        lines = [self._title(timer, width - (len(old(old_us)) + 2 if old_us else 0))]
        why = timer.why_low_wheels_are_empty()
        room = height - 3 - bool(why)
        columns = min(width // max(len(wheels), 1), 2 * (room - _CAPTION_ROWS) + 6)
        rows = min(room - _CAPTION_ROWS, (columns - 4) // 2) - 1 | 1
        if wheels and columns >= _DIAL_COLUMNS and rows >= _DIAL_ROWS:
            lines += self._dials(timer, wheels, columns, rows)
        else:
            lines += self._strips(timer, wheels, width, room)
        lines.append(self._rates(timer))
        lines.append(self._descends() or self._moved(timer) or self._next_bucket(timer, width))
        if why:
            lines.append(ink(why, colours.dim))
        return stacked(aged(lines, old_us, colours), width)

    def _title(self, timer: TimerView, width: int) -> Text:
        colours = self.palette
        title = ink(f"{timer.key.timer} {'purgatory' if timer.is_purgatory else 'timer'}", "bold")
        title.append(
            f", broker {timer.key.broker}", style=f"bold {colours.broker(timer.key.broker)}"
        )
        next_in = timer.next_in_ms()
        right = f"clock {count(timer.now_ms)} ms   " + (
            f"next bucket in {duration(next_in)}" if next_in is not None else "nothing waits"
        )
        title.append(" " * max(width - title.cell_len - len(right), 2))
        title.append(right, style=f"bold {colours.warning}" if next_in is not None else colours.dim)
        return title

    def _rates(self, timer: TimerView) -> Text:
        colours = self.palette
        line = ink(" · ", colours.dim).join(
            Text.assemble(f"{name} ", (per_second(rate.now), "bold" if rate.now else colours.dim))
            for name, rate in (
                ("inserted", timer.inserted),
                ("cancelled", timer.cancelled),
                ("expired", timer.expired),
                ("demoted", timer.demoted),
            )
        )
        line.append(
            f"   {plural(timer.tasks, 'task')}", style="bold" if timer.tasks else colours.dim
        )
        return line

    def _descends(self) -> Text | None:
        """Return the stations of the task that slow motion replays. None if it replays no task."""
        down, colours = self._descent, self.palette
        if down is None:
            return None
        line = ink(f"{LIES} {down.task}, due {count(down.deadline_ms)} ms: ", "bold")
        way = sum(len(stop.words) + len(" → ") for stop in down.stops)
        whole = line.cell_len + way <= self.size.width
        if not whole:
            line = ink(f"{LIES} {down.task}: ", "bold")
        for at, stop in enumerate(down.stops):
            reached = at <= down.at
            style = f"bold {colours.warning}" if at == down.at else "" if reached else colours.dim
            line.append(" → " if at else "", style="" if reached else colours.dim)
            line.append(stop.words if whole else stop.brief, style=style)
        return line

    def _moved(self, timer: TimerView) -> Text | None:
        """Return which tasks came down in the last second, and from where. None if no task did."""
        colours = self.palette
        moves = timer.recent(self.model.wheels.glow.now_us)
        down = next((move for move in moves if move.from_level), None)
        move = down or (moves[0] if moves else None)
        if move is None:
            return None
        what = move.task or plural(move.tasks, "task")
        if not move.from_level:
            words = f"{CAME} {what}: into slot {move.slot} of level {move.level}"
        elif move.level:
            words = (
                f"{LEFT} {what}: down from slot {move.from_slot} of level {move.from_level} to slot"
                f" {move.slot} of level {move.level}"
            )
        else:
            words = (
                f"{LEFT} {what}: down from slot {move.from_slot} of level {move.from_level}, as the"
                " hand came to it"
            )
        return ink(words, f"bold {colours.warning} on {colours.glow}")

    def _next_bucket(self, timer: TimerView, width: int) -> Text:
        colours, bucket = self.palette, timer.next_bucket
        if bucket is None:
            return ink("no bucket is due: the reaper sleeps until a task comes", colours.dim)
        line = ink(
            f"{NEXT} slot {bucket.slot} of level {bucket.level}: ", f"bold {colours.warning}"
        )
        if not bucket.size:
            line.append("its tasks were done before their time", style=colours.dim)
            return line
        shown = 0
        for task, deadline in bucket.tasks:
            told = f"{task} due {count(deadline)} ms · "
            if shown and line.cell_len + len(told) > width - 12:
                break
            line.append(told)
            shown += 1
        line.right_crop(3)
        if bucket.size > shown:
            line.append(f" ({bucket.size - shown:,} more)", style=colours.dim)
        return line

    def _comes_down(self, timer: TimerView, wheel: WheelView, brief: bool) -> str:
        """Return what happens to the next slot of a wheel, and when."""
        slot = wheel.next_slot
        if slot is None:
            return "empty"
        held = wheel.counts[slot]
        due_in = duration(max(wheel.due_ms(slot) - timer.now_ms, 0))
        if brief:
            return (
                f"{NEXT} slot {slot}: {held:,} {'runs' if wheel.level == 1 else 'down'} in {due_in}"
            )
        if wheel.level == 1:
            return (
                f"{NEXT} slot {slot}: {plural(held, 'task')} {'runs' if held == 1 else 'run'} in"
                f" {due_in}"
            )
        return (
            f"{NEXT} slot {slot}: {plural(held, 'task')} {'comes' if held == 1 else 'come'} down to"
            f" level {wheel.level - 1} in {due_in}"
        )

    def _made(self, timer: TimerView, wheel: WheelView) -> str:
        if wheel.level == 1 or not wheel.sample.made_for_delay_ms:
            return ""
        return (
            f"made {duration(max(timer.now_ms - wheel.sample.made_ms, 0))} ago for a task of"
            f" {wheel.sample.made_for_delay_ms:,} ms"
        )

    def _strips(
        self, timer: TimerView, wheels: list[WheelView], width: int, room: int
    ) -> list[Text]:
        """Draw bars for each level, with the hand below them, as high as the room allows."""
        if not wheels:
            return []
        hidden: list[WheelView] = []
        while len(wheels) > 1 and 2 * len(wheels) + bool(hidden) > room:
            # The lowest empty level is left out first; if none is empty, the highest level.
            empty = [wheel for wheel in wheels if not wheel.tasks]
            hidden.append(empty[0] if empty else wheels[-1])
            wheels = [wheel for wheel in wheels if wheel is not hidden[-1]]
        bars = min(max((room - bool(hidden)) // len(wheels) - 1, 1), 4)
        slots = max(wheel.size for wheel in wheels)
        label = 18
        cell = max(min((width - label - 22) // slots, 4), 1)
        lines: list[Text] = []
        for wheel in wheels:
            lines += self._strip(timer, wheel, bars, label, cell)
        if hidden:
            lines.append(self._hidden(hidden))
        return lines[: max(room, 2)]

    def _hidden(self, wheels: list[WheelView]) -> Text:
        """Return the levels that have no room, and the number of tasks in them."""
        parts = [
            f"L{wheel.level} {span(wheel.tick_ms)} × {wheel.size}:"
            f" {plural(wheel.tasks, 'task') if wheel.tasks else 'empty'}"
            for wheel in sorted(wheels, key=lambda wheel: wheel.level)
        ]
        return ink(f"no room for {' · '.join(parts)}", self.palette.warning)

    def _strip(
        self, timer: TimerView, wheel: WheelView, rows: int, label: int, cell: int
    ) -> list[Text]:
        colours = self.palette
        top = max(wheel.counts, default=0)
        columns = [column(held, top, rows) for held in wheel.counts]
        next_slot = wheel.next_slot
        lines = []
        for row in range(rows):
            name = f"level {wheel.level}" if row == 0 else ""
            name = f"{span(wheel.tick_ms)} × {wheel.size}" if row == 1 else name
            if rows == 1:
                name = f"L{wheel.level} {span(wheel.tick_ms)} × {wheel.size}"
            line = ink(f"{name:<{label}}", "bold" if row == 0 else colours.dim)
            for slot, cells in enumerate(columns):
                glyph = cells[row]
                if row == rows - 1 and glyph == " ":
                    line.append("▁" * max(cell - 1, 1) + " " * (cell > 1), style=colours.dim)
                    continue
                style = self._slot_style(timer, wheel, slot, next_slot)
                line.append(glyph * max(cell - 1, 1), style=style)
                line.append(" " * (cell > 1))
            if row == 0:
                line.append(
                    f"  {plural(wheel.tasks, 'task')}", style="bold" if wheel.tasks else colours.dim
                )
                line.append(f" · hand at {wheel.hand}", style=colours.dim)
            elif row == 1:
                line.append(f"  {self._made(timer, wheel)}", style=colours.dim)
            lines.append(line)
        lines.append(self._hand_line(timer, wheel, label, cell, next_slot, rows))
        return lines

    def _hand_line(
        self,
        timer: TimerView,
        wheel: WheelView,
        label: int,
        cell: int,
        next_slot: int | None,
        rows: int,
    ) -> Text:
        colours = self.palette
        line = Text(" " * label)
        glows = self.model.wheels.glow.glows("hand", timer.key, wheel.level)
        for slot in range(wheel.size):
            sign = HAND if slot == wheel.hand else NEXT if slot == next_slot else " "
            if trace := self._trace(timer, wheel, slot):
                line.append(trace.ljust(cell), style=self._trace_style(trace))
                continue
            style = (
                f"bold {colours.hand}" + (f" on {colours.glow}" if glows else "")
                if sign == HAND
                else f"bold {colours.warning}"
            )
            line.append(sign.ljust(cell), style=style if sign != " " else "")
        line.append(
            f"  {self._comes_down(timer, wheel, brief=cell < 3)}",
            style=colours.warning if wheel.tasks else colours.dim,
        )
        return line

    def _trace(self, timer: TimerView, wheel: WheelView, slot: int) -> str:
        """Return the sign of a slot whose tasks have just gone down, or that has just got tasks.

        In slow motion, only the slots of the replayed task have a sign.
        """
        if self._descent is not None:
            if self._descent.lies_in(wheel.level, slot):
                return LIES
            return LAY if self._descent.lay_in(wheel.level, slot) else ""
        glow = self.model.wheels.glow
        if glow.glows("left", timer.key, wheel.level, slot):
            return LEFT
        return CAME if glow.glows("came", timer.key, wheel.level, slot) else ""

    def _trace_style(self, trace: str) -> str:
        colours = self.palette
        if trace == LAY:
            return f"bold {colours.warning}"
        return f"bold {colours.warning} on {colours.glow}"

    def _slot_style(
        self, timer: TimerView, wheel: WheelView, slot: int, next_slot: int | None
    ) -> str:
        colours: Palette = self.palette
        style = f"bold {colours.warning}" if slot == next_slot else colours.broker(timer.key.broker)
        if self.model.wheels.glow.glows("slot", timer.key, wheel.level, slot):
            style += " bold"
        return style

    def _dials(
        self, timer: TimerView, wheels: list[WheelView], columns: int, rows: int
    ) -> list[Text]:
        pictures = [
            self._dial(timer, wheel, columns, rows) + self._captions(timer, wheel, columns)
            for wheel in wheels
        ]
        return [Text("").join(parts) for parts in zip(*pictures, strict=True)]

    def _dial(self, timer: TimerView, wheel: WheelView, columns: int, rows: int) -> list[Text]:
        """Draw a wheel as a clock face in characters.

        The rim shows the number of tasks, the hand starts in the middle, and ◆ marks the slot that
        is due next.
        """
        colours = self.palette
        cells: dict[tuple[int, int], tuple[str, str]] = {}
        middle_x, middle_y = columns // 2 - 1, rows // 2
        radius_x = min(2 * middle_y + 1, middle_x - 2)

        def place(slot: int, part: float) -> tuple[int, int]:
            angle = 2 * math.pi * slot / wheel.size
            return round(middle_x + part * radius_x * math.sin(angle)), round(
                middle_y - part * middle_y * math.cos(angle)
            )

        def write(slot: int, words: str, style: str) -> None:
            x, y = place(slot, 1.0)
            for i, glyph in enumerate(words, -((len(words) - 1) // 2)):
                cells[x + i, y] = (glyph, style)

        glow = (
            f" on {colours.glow}"
            if self.model.wheels.glow.glows("hand", timer.key, wheel.level)
            else ""
        )
        for step in range(3 * rows):
            cells[place(wheel.hand, 0.72 * step / (3 * rows))] = ("•", f"bold {colours.hand}{glow}")
        cells[place(wheel.hand, 0.76)] = (HAND, f"bold {colours.hand}")
        cells[middle_x, middle_y] = ("┼", colours.dim)
        next_slot = wheel.next_slot
        for slot, held in enumerate(wheel.counts):
            if trace := self._trace(timer, wheel, slot):
                style = self._trace_style(trace)
                write(slot, f"{trace}{short_count(held)}" if held else trace, style)
            elif held:
                write(
                    slot,
                    f" {short_count(held)} ",
                    f"reverse {self._slot_style(timer, wheel, slot, next_slot)}",
                )
            elif slot % _NUMBERED == 0:
                write(slot, str(slot), colours.dim)
            else:
                write(slot, EMPTY, colours.text)
        if next_slot is not None and next_slot != wheel.hand:
            cells[place(next_slot, 0.74)] = (NEXT, f"bold {colours.warning}")
        face = []
        for y in range(rows):
            row = Text("")
            for x in range(columns):
                glyph, style = cells.get((x, y), (" ", ""))
                row.append(glyph, style=style)
            face.append(row)
        return face

    def _captions(self, timer: TimerView, wheel: WheelView, columns: int) -> list[Text]:
        colours = self.palette
        captions = [
            ink(f"level {wheel.level} · {span(wheel.tick_ms)} × {wheel.size}", "bold"),
            Text.assemble(
                (f"{plural(wheel.tasks, 'task')}", "bold" if wheel.tasks else colours.dim),
                (f" · hand at slot {wheel.hand}", colours.dim),
            ),
            ink(
                self._comes_down(timer, wheel, brief=True),
                f"bold {colours.warning}" if wheel.tasks else colours.dim,
            ),
            ink(self._made(timer, wheel).partition(" for")[0], colours.dim),
        ]
        for caption in captions:
            caption.truncate(columns - 1, overflow="ellipsis")
            caption.pad_right(columns - caption.cell_len)
        return captions
