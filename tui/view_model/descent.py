"""A timer task that moves down the wheels, as the dial replays it in slow motion.

It has the slots in which the task was, and the slot of the displayed moment.
"""

from typing import NamedTuple

from kafka_edu.trace.events.timer import (
    TimerTaskAdded,
    TimerTaskCancelled,
    TimerTaskDemoted,
    TimerTaskExpired,
)

from .motion_view import Journey, MotionView
from .wheels_view import TimerKey


class Stop(NamedTuple):
    """A bucket in which the task was. Level 0 means that it was in no bucket."""

    level: int
    slot: int
    words: str
    """`level 3 slot 1`, or the end of the task, such as `runs`."""

    @property
    def brief(self) -> str:
        """The same text for a narrow place: `L3 [1]`."""
        return f"L{self.level} [{self.slot}]" if self.words.startswith("level") else self.words


class Descent(NamedTuple):
    """The path of one task through the slots. `at` is the index of the displayed stop."""

    key: TimerKey
    task: str
    deadline_ms: int
    stops: tuple[Stop, ...]
    at: int

    def lies_in(self, level: int, slot: int) -> bool:
        """Return whether the task is in this slot at the displayed moment."""
        return self.stops[self.at][:2] == (level, slot)

    def lay_in(self, level: int, slot: int) -> bool:
        """Return whether the task was in this slot before the displayed moment."""
        return any(stop[:2] == (level, slot) for stop in self.stops[: self.at])


def descent(motion: MotionView) -> Descent | None:
    """Return the task that slow motion replays now. None if slow motion is off or replays a
    record.
    """
    if not motion.on or motion.journey is None:
        return None
    return _descent_of(motion.journey, motion.place()[0])


def _descent_of(journey: Journey, at: int) -> Descent | None:
    broker = journey.stations[0].source.broker
    first = journey.stations[0].envelope.event
    if broker is None or not isinstance(first, TimerTaskAdded | TimerTaskDemoted):
        return None
    stops = []
    for station in journey.stations:
        match station.envelope.event:
            case TimerTaskAdded() as e:
                stops.append(Stop(e.level, e.slot, f"level {e.level} slot {e.slot}"))
            case TimerTaskDemoted() as e:
                words = f"level {e.level} slot {e.slot}" if e.level else "out of the wheels"
                stops.append(Stop(e.level, e.slot, words))
            case TimerTaskExpired() as e:
                stops.append(Stop(e.level, e.slot, "runs"))
            case TimerTaskCancelled() as e:
                stops.append(Stop(e.level, e.slot, "cancelled"))
            case _:
                return None
    key = TimerKey(broker, first.timer)
    return Descent(key, first.task, first.deadline_ms, tuple(stops), at)
