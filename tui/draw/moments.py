"""Moments of a history, as a user writes them: `12.5`, `-3`, `14:03:07`, `b1#4711`."""

import re
import time
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_edu.instruments.event_name import UnknownEventError, find_event
from kafka_edu.trace.event import Envelope

_SECONDS: Final = re.compile(r"-?\d+(?:\.\d+)?")
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d\d):(\d\d)(\.\d{1,3})?")


class UnknownMomentError(Exception):
    """The history has no such moment. The message says what to write instead."""


class Moment(NamedTuple):
    """A time in the history, and how many events come up to it."""

    mono_us: int
    events: int
    """The number of events before this moment or at it."""
    words: str


def moment_of(envelopes: Sequence[Envelope], text: str) -> Moment:
    """Return the moment that a text names.

    A number means seconds after the first event; a negative number means seconds before the end. A
    time of day belongs to the day of the last event. Any other text names an event as `kafka-edu
    chain` does, and means the moment right after this event. An empty text means the end. Raises
    UnknownMomentError if there is no such moment.
    """
    first, last = envelopes[0], envelopes[-1]
    if not text:
        return _at(envelopes, last.mono_us)
    if _SECONDS.fullmatch(text):
        from_us = last.mono_us if text.startswith("-") else first.mono_us
        return _at(envelopes, _within(envelopes, from_us + round(float(text) * 1e6), text))
    if clock := _CLOCK.fullmatch(text):
        hour, minute, second = map(int, clock.groups()[:3])
        if hour > 23 or minute > 59 or second > 59:
            raise UnknownMomentError(f"'{text}' is not a time of day")
        day = time.localtime(last.wall_ms / 1000)
        wall_s = time.mktime((*day[:3], hour, minute, second, *day[6:8], -1))
        wall_ms = round((wall_s + float(clock[4] or 0)) * 1000)
        mono_us = last.mono_us + (wall_ms - last.wall_ms) * 1000
        return _at(envelopes, _within(envelopes, mono_us, text))
    try:
        return _at(envelopes, find_event(envelopes, text.split()).mono_us)
    except UnknownEventError as error:
        raise UnknownMomentError(
            f"{error}. A moment is seconds since the beginning (12.5), seconds before the end"
            " (-3), a"
            " time of day (14:03:07), or an event (b1#4711)"
        ) from error


def _within(envelopes: Sequence[Envelope], mono_us: int, text: str) -> int:
    """Return the time, moved into the history if it is at most 1 s outside.

    Raises UnknownMomentError if it is further outside.
    """
    first, last = envelopes[0], envelopes[-1]
    if not first.mono_us - 1_000_000 <= mono_us <= last.mono_us + 1_000_000:
        length_s = (last.mono_us - first.mono_us) / 1e6
        raise UnknownMomentError(
            f"nothing is known of {text}: the events go from {_clock(first)} to {_clock(last)},"
            f" which are {length_s:.1f} s"
        )
    return min(max(mono_us, first.mono_us), last.mono_us)


def _at(envelopes: Sequence[Envelope], mono_us: int) -> Moment:
    events = bisect_right(envelopes, mono_us, key=lambda envelope: envelope.mono_us)
    before = envelopes[max(events - 1, 0)]
    since_s = (mono_us - envelopes[0].mono_us) / 1e6
    return Moment(mono_us, events, f"{_clock(before)}, second {since_s:.1f}")


def _clock(envelope: Envelope) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(envelope.wall_ms / 1000))
    return f"{clock}.{envelope.wall_ms % 1000:03d}"
