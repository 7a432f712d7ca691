"""Play a recording at its own speed, faster or slower, step by step, forwards and backwards.

This module is pure: the caller says how much time has passed.
"""

from collections.abc import Sequence
from typing import Final

from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind

SPEEDS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class Replay:
    """A position in a recording.

    `clock_us` is the recorded clock. All events up to it have been handed out.
    """

    def __init__(self, envelopes: Sequence[Envelope]) -> None:
        """Begin at the first event. Raise ValueError if the recording has none."""
        if not envelopes:
            raise ValueError("the recording holds no events")
        self._envelopes = envelopes
        self._next = 0
        self.begin_us = envelopes[0].mono_us
        self.end_us = envelopes[-1].mono_us
        self.clock_us = self.begin_us
        self.playing = True
        self._speed = SPEEDS.index(1.0)

    @property
    def speed(self) -> float:
        return SPEEDS[self._speed]

    @property
    def ended(self) -> bool:
        return self._next >= len(self._envelopes)

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
        """Let `elapsed_us` of real time pass, and return the events recorded in it. O(events
        returned).
        """
        if not self.playing:
            return []
        return self._until(min(self.clock_us + int(elapsed_us * self.speed), self.end_us))

    def _until(self, clock_us: int) -> list[Envelope]:
        self.clock_us = clock_us
        begin = self._next
        while self._next < len(self._envelopes) and self._envelopes[self._next].mono_us <= clock_us:
            self._next += 1
        if self.ended:
            self.playing = False
        return list(self._envelopes[begin : self._next])

    def step(self) -> list[Envelope]:
        """Return the events up to and including the next fact, then pause."""
        self.playing = False
        for envelope in self._envelopes[self._next :]:
            if EVENT_TYPES[envelope.name].kind is Kind.FACT:
                return self._until(envelope.mono_us)
        return self._until(self.end_us)

    def wind_to(self, at_ms: int) -> list[Envelope]:
        """Go to a position. Return all events from the start up to it, for an empty model."""
        self._next = 0
        return self._until(min(max(self.begin_us + at_ms * 1000, self.begin_us), self.end_us))

    def step_back(self) -> list[Envelope]:
        """Go to the fact before the present one. Return all events up to it, for an empty model."""
        self.playing = False
        before = [
            e.mono_us
            for e in self._envelopes[: self._next]
            if EVENT_TYPES[e.name].kind is Kind.FACT and e.mono_us < self.clock_us
        ]
        return self.wind_to((before[-1] - self.begin_us) // 1000 if before else 0)
