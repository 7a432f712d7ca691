"""The operations that wait in a purgatory, the longest waiting first, each with its reason."""

from collections.abc import Mapping

from rich.text import Text

from ..model import Model
from ..subjects import WAITING
from ..view_model.figures import duration, per_second
from ..view_model.wheels_view import TimerKey, TimerView, left, why
from .drawn import Drawn, Lines, Order, Value, ink
from .event_text import coloured


class WaitingHead(Drawn):
    """Shows how many operations wait, and how earlier ones were completed."""

    subject = WAITING

    def __init__(self, model: Model, lines: "WaitingLines") -> None:
        super().__init__(model, id="waiting-head")
        self._lines = lines
        self.key: TimerKey | None = None

    def draw(self) -> Text:
        timer, colours = self.model.wheels.timers.get(self.key) if self.key else None, self.palette
        if timer is None or timer.purgatory is None:
            return ink("this timer belongs to no purgatory" if timer else "", colours.dim)
        told = timer.purgatory
        line = ink(f"waiting {told.delayed:,}{self._lines.order_words()}", "bold")
        line.append(f" under {told.keys:,} keys", style=colours.dim)
        line.append(
            f"   completed by event {per_second(timer.by_event.now)}, by time-out"
            f" {per_second(timer.by_timeout.now)}"
        )
        line.append(
            f"   in all ✓ {told.completed_at_once + told.completed_by_event:,}  time-outs"
            f" {told.completed_by_timeout:,}",
            style=colours.dim,
        )
        line.truncate(self.size.width, overflow="ellipsis")
        return line


class WaitingLines(Lines):
    """One line for each operation: its kind, its age, what it still needs, and the time left."""

    subject = WAITING
    orders = (Order("deadline"), Order("operation"), Order("age", greatest_first=True))

    def __init__(self, model: Model) -> None:
        super().__init__(id="waiting")
        self.model = model
        self.key: TimerKey | None = None

    @property
    def timer(self) -> TimerView | None:
        return self.model.wheels.timers.get(self.key) if self.key else None

    def count(self) -> int:
        return len(self.timer.waiting) if self.timer is not None else 0

    def values(self, index: int) -> Mapping[str, Value | None]:
        timer = self.timer
        if timer is None:
            return {}
        operation = timer.waiting[index]
        return {
            "deadline": operation.deadline_ms,
            "operation": operation.label,
            "age": operation.age_ms,
        }

    def empty(self) -> str:
        return (
            "nothing waits here now" if self.timer is not None and self.timer.is_purgatory else ""
        )

    def line(self, index: int) -> Text:
        timer, colours = self.timer, self.palette
        if timer is None:
            return Text("")
        operation = timer.waiting[index]
        narrow = self.size.width < 100
        line = ink(operation.label.removeprefix("Delayed") if narrow else operation.label, "bold")
        line.append(f"  waits {duration(operation.age_ms):>6}", style=colours.warning)
        line.append(f", {left(operation, timer):>11}  ", style=colours.dim)
        line.append_text(coloured(Text("; ".join(why(operation))), colours))
        return ink(line.plain, colours.dim) if self.model.old_us(timer.key.broker) else line
