"""Two lines to choose a timer: the brokers, and the timers of the chosen broker."""

from rich.text import Text
from textual.events import Click
from textual.message import Message

from ..model import Model
from ..subjects import WHEELS
from ..view_model.wheels_view import TimerKey
from .drawn import Drawn, ink, stacked


class TimerTabs(Drawn):
    """The keys left and right choose the broker, up and down choose its timer. This widget keeps
    the choice.
    """

    subject = WHEELS

    class Chosen(Message):
        """A message: another timer was clicked."""

        def __init__(self, key: TimerKey) -> None:
            super().__init__()
            self.key = key

    def __init__(self, model: Model) -> None:
        super().__init__(model, id="timers")
        self.key: TimerKey | None = None
        self._places: list[tuple[int, int, int, TimerKey]] = []
        """(Line, first column, end column, timer) of each clickable place."""

    def settle(self) -> None:
        """Choose a timer if none is chosen: the busiest one.

        If the chosen timer is gone, choose the timer with the same name on another broker.
        """
        timers = self.model.wheels.timers
        if self.key in timers or not timers:
            return
        if self.key is not None:
            alike = [key for key in timers if key.timer == self.key.timer]
            if alike:
                self.key = min(alike)
                return
        self.key = max(
            sorted(timers), key=lambda key: (timers[key].tasks, timers[key].inserted.total)
        )

    def move_broker(self, by: int) -> None:
        brokers = self.model.wheels.brokers()
        if self.key is None or not brokers:
            return
        at = brokers.index(self.key.broker) if self.key.broker in brokers else 0
        broker = brokers[(at + by) % len(brokers)]
        names = [timer.key.timer for timer in self.model.wheels.of_broker(broker)]
        self.key = TimerKey(broker, self.key.timer if self.key.timer in names else names[0])

    def move_timer(self, by: int) -> None:
        if self.key is None:
            return
        keys = [timer.key for timer in self.model.wheels.of_broker(self.key.broker)]
        if keys:
            at = keys.index(self.key) if self.key in keys else 0
            self.key = keys[(at + by) % len(keys)]

    def draw(self) -> Text:
        colours, key = self.palette, self.key
        places: list[tuple[int, int, int, TimerKey]] = []
        first, second = ink("broker  ", colours.dim), ink("timer   ", colours.dim)
        for broker in self.model.wheels.brokers():
            chosen = key is not None and key.broker == broker
            begin = first.cell_len
            first.append(
                f"[{broker}]" if chosen else f" {broker} ",
                style=(
                    f"bold reverse {colours.broker(broker)}" if chosen else colours.broker(broker)
                ),
            )
            first.append("  ")
            timers = self.model.wheels.of_broker(broker)
            alike = [
                timer.key for timer in timers if key is not None and timer.key.timer == key.timer
            ] or [timer.key for timer in timers]
            places.append((0, begin, first.cell_len, alike[0]))
        if key is not None:
            for timer in self.model.wheels.of_broker(key.broker):
                chosen = timer.key == key
                begin = second.cell_len
                words = f"{timer.key.timer} {timer.tasks:,}"
                second.append(
                    f"[{words}]" if chosen else f" {words} ",
                    style="bold reverse" if chosen else "" if timer.tasks else colours.dim,
                )
                second.append(" ")
                places.append((1, begin, second.cell_len, timer.key))
        self._places = places
        return stacked([first, second], self.size.width)

    def on_click(self, event: Click) -> None:
        at = event.get_content_offset_capture(self)
        for line, begin, end, key in self._places:
            if at.y == line and begin <= at.x < end:
                self.key = key
                self.post_message(self.Chosen(key))
