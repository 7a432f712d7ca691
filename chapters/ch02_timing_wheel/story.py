"""A timer on a MockTime clock, and sentences for the events that it emits.

The clock moves only when the caller moves it.
"""

from kafka_edu.common.time import MockTime
from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.trace.event import Envelope, Event, Level, Source
from kafka_edu.trace.events.timer import (
    TimerTaskAdded,
    TimerTaskDemoted,
    TimerTaskExpired,
    WheelCreated,
    WheelSnapshot,
    WheelState,
)
from kafka_edu.trace.tracer import Tracer

from .figures import span

TimedEvent = tuple[int, Event]
"""The time in ms at which an event was emitted, and the event."""


class Named(TimerTask):
    """A timer task that has a name and does nothing.

    The timer's events report what happens to it.
    """

    __slots__ = ("name",)

    def __init__(self, delay_ms: int) -> None:
        super().__init__(delay_ms)
        self.name = span(delay_ms)

    @property
    def label(self) -> str:
        return self.name

    def run(self) -> None:
        """Do nothing."""


class Story:
    """A timer that starts at time 0, and all events that it emits."""

    level = Level.ALL

    def __init__(self, tick_ms: int = 1, wheel_size: int = 20) -> None:
        self.time = MockTime(0)
        self.trace = Tracer(Source.of_broker(0), self.time)
        self.trace.add_sink(self)
        self.timer = SystemTimer(
            "story", self.time.hi_res_clock_ms, self.trace, tick_ms, wheel_size
        )
        self._events: list[TimedEvent] = []

    def accept(self, envelope: Envelope) -> None:
        self._events.append((envelope.wall_ms, envelope.event))

    def add(self, *delays_ms: int) -> list[TimedEvent]:
        for delay_ms in delays_ms:
            self.timer.add(Named(delay_ms))
        return self.take()

    def until(self, now_ms: int) -> list[TimedEvent]:
        """Advance the time to `now_ms`, from bucket to bucket, as the reaper does.

        Return the events.
        """
        while (due_ms := self.timer.next_expiration_ms()) is not None and due_ms <= now_ms:
            self.time.advance(max(due_ms - self.time.hi_res_clock_ms(), 0))
            self.timer.advance_clock(self.time.hi_res_clock_ms())
        self.time.advance(now_ms - self.time.hi_res_clock_ms())
        return self.take()

    def take(self) -> list[TimedEvent]:
        events, self._events = self._events, []
        return events

    def wheels(self) -> list[WheelState]:
        return [
            envelope.event.state
            for envelope in self.trace.snapshot()
            if isinstance(envelope.event, WheelSnapshot)
        ]


def in_words(event: Event) -> str:
    """Return the sentence of the story that describes this event."""
    match event:
        case WheelCreated(level=level, tick_ms=tick, wheel_size=size, delay_ms=delay):
            return f"level {level} is made, {span(tick)} x {size}, for a task {span(delay)} away"
        case TimerTaskAdded(task=task, level=level, slot=slot, deadline_ms=deadline):
            return f"{task} goes into level {level}, slot {slot}; it is due at {deadline:,}"
        case TimerTaskDemoted(
            task=task, left_ms=left, from_level=was, from_slot=from_slot, level=level, slot=slot
        ):
            return (
                f"{task} comes down from level {was}, slot {from_slot}, to level {level}, slot"
                f" {slot}; {span(left)} left"
            )
        case TimerTaskExpired(task=task, late_ms=late):
            return f"{task} is due, and runs" + (f", {late} ms late" if late else "")
        case _:
            return type(event).__name__
