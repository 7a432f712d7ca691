"""Play a recording at its own speed, faster or slower, step by step, forwards and backwards.

This module has no clock: the caller says how much time has passed.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind

SPEEDS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def _is_fact(envelope: Envelope) -> bool:
    known = EVENT_TYPES.get(envelope.name)
    return known is not None and known.kind is Kind.FACT


class Replay:
    """A position in a recording, or in the past events of a live cluster that are still in memory.

    `clock_us` is the recorded time at the position. All events up to it have been handed out. New
    events may be added at the end of the sequence while it is played.
    """

    def __init__(self, envelopes: Sequence[Envelope], index: int = 0) -> None:
        """Begin before the event at `index`. Raises ValueError if the recording has no events."""
        if not envelopes:
            raise ValueError("the recording holds no events")
        self.envelopes = envelopes
        self.index = index
        """The number of events that have been handed out."""
        self.begin_us = envelopes[0].mono_us
        self.clock_us = envelopes[index - 1].mono_us if index else self.begin_us
        self.playing = True
        self._speed = SPEEDS.index(1.0)

    @property
    def end_us(self) -> int:
        return self.envelopes[-1].mono_us

    @property
    def speed(self) -> float:
        return SPEEDS[self._speed]

    @property
    def ended(self) -> bool:
        return self.index >= len(self.envelopes)

    @property
    def at_ms(self) -> int:
        """Return the position in ms since the start."""
        return (self.clock_us - self.begin_us) // 1000

    @property
    def length_ms(self) -> int:
        return (self.end_us - self.begin_us) // 1000

    def faster(self) -> None:
        self._speed = min(self._speed + 1, len(SPEEDS) - 1)

    def slower(self) -> None:
        self._speed = max(self._speed - 1, 0)

    def advance(self, elapsed_us: int) -> list[Envelope]:
        """Return the events of the next `elapsed_us` of real time, at the present speed.

        O(events returned).
        """
        if not self.playing:
            return []
        return self._until(min(self.clock_us + int(elapsed_us * self.speed), self.end_us))

    def _until(self, clock_us: int) -> list[Envelope]:
        self.clock_us = clock_us
        begin = self.index
        while self.index < len(self.envelopes) and self.envelopes[self.index].mono_us <= clock_us:
            self.index += 1
        if self.ended:
            self.playing = False
        return list(self.envelopes[begin : self.index])

    def step(self) -> list[Envelope]:
        """Return the events up to and including the next fact, then pause. O(events returned)."""
        self.playing = False
        for at in range(self.index, len(self.envelopes)):
            if _is_fact(self.envelopes[at]):
                return self._until(self.envelopes[at].mono_us)
        return self._until(self.end_us)

    def stop_at(self, index: int) -> None:
        """Pause after the event at `index`.

        Later events count as not handed out, even if the replay has already returned them.
        """
        self.playing = False
        self.index = index + 1
        self.clock_us = self.envelopes[index].mono_us

    def index_at(self, clock_us: int) -> int:
        """Return the number of events up to a time (µs). O(log events)."""
        return bisect_right(self.envelopes, clock_us, key=lambda envelope: envelope.mono_us)

    def time_of_fact_before(self) -> int:
        """Return the time of the fact before the present one. If there is none, return the start
        time. O(events between).
        """
        for at in range(self.index - 1, -1, -1):
            envelope = self.envelopes[at]
            if envelope.mono_us < self.clock_us and _is_fact(envelope):
                return envelope.mono_us
        return self.begin_us

    def within(self, clock_us: int) -> int:
        """Return the given time (µs). If it is before the recording's start or after its end,
        return the start or the end.
        """
        return min(max(clock_us, self.begin_us), self.end_us)

    def go_to(self, clock_us: int) -> None:
        """Go to a time (µs) and return no events, because the caller has the state at that time."""
        self.clock_us = self.within(clock_us)
        self.index = self.index_at(self.clock_us)
        if self.ended:
            self.playing = False

    def wind_to(self, at_ms: int) -> list[Envelope]:
        """Go to a position (ms since the start). Return all events from the start up to it.

        The caller gives these events to an empty model.
        """
        self.index = 0
        return self._until(self.within(self.begin_us + at_ms * 1000))

    def step_back(self) -> list[Envelope]:
        """Go back to the fact before the present one. Return all events from the start up to it.

        The caller gives these events to an empty model.
        """
        self.playing = False
        clock_us = self.time_of_fact_before()
        self.index = 0
        return self._until(clock_us)
