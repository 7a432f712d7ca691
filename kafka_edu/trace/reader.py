"""Reads events of several brokers as one history (spec M1): one order, and chains of causes that cross from process to process.

On one machine all brokers share the monotonic clock, so the time of an event orders it among the brokers, and its number orders it within its
broker. Within a broker a fact names its cause. Between brokers nothing can: there, two events belong together when they have the same join
keys (the declared `joins` of their types, names and values), and the earlier one is the cause of the later.
"""

import heapq
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import kafka_edu.trace.events.all  # noqa: F401 - fills the registry of event types
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind
from kafka_edu.trace.wire_format import Decoder, TraceFormatError

JoinKey = tuple[tuple[str, object], ...]


def order(envelope: Envelope) -> tuple[int, int, int]:
    """The place of an event in the one history."""
    return envelope.mono_us, envelope.broker, envelope.seq


def read_recording(file: BinaryIO) -> Iterator[Envelope]:
    """The events of a recording, in the order they were told. A last line that was cut off (kill -9) is left out."""
    decoder = Decoder(file.readline())
    for line in file:
        if not line.endswith(b"\n"):
            return
        envelope = decoder.decode(line)
        if envelope is not None:
            yield envelope


def merge(streams: Iterable[Iterable[Envelope]]) -> Iterator[Envelope]:
    """Recordings of several brokers as one order. Each stream must be in its own order; O(log streams) an event."""
    return heapq.merge(*streams, key=order)


def join_key(envelope: Envelope) -> JoinKey | None:
    """By what this event is joined to events of other processes, or None."""
    known = EVENT_TYPES.get(envelope.name)
    if known is None or not known.joins:
        return None
    return tuple((name, getattr(envelope.event, name)) for name in sorted(known.joins))


class History:
    """Events in one order, with an index by number and by join key. Memory grows with the events added."""

    def __init__(self, envelopes: Iterable[Envelope] = ()) -> None:
        self.events: list[Envelope] = []
        self._by_number: dict[tuple[int, int], Envelope] = {}
        self._by_key: dict[JoinKey, list[Envelope]] = {}
        for envelope in envelopes:
            self.add(envelope)

    def add(self, envelope: Envelope) -> None:
        """Take one fact; gauges and snapshots tell no change and are left out."""
        if EVENT_TYPES[envelope.name].kind is not Kind.FACT:
            return
        self.events.append(envelope)
        self._by_number[envelope.broker, envelope.seq] = envelope
        key = join_key(envelope)
        if key is not None:
            self._by_key.setdefault(key, []).append(envelope)

    def cause_of(self, envelope: Envelope) -> Envelope | None:
        """What brought this event about: its cause within its broker, or else the latest earlier event of another process with the same keys."""
        if envelope.cause:
            return self._by_number.get((envelope.broker, envelope.cause))
        key = join_key(envelope)
        if key is None:
            return None
        earlier = [e for e in self._by_key[key] if e.broker != envelope.broker and order(e) < order(envelope)]
        return max(earlier, key=order, default=None)

    def chain(self, envelope: Envelope) -> list[Envelope]:
        """From the first cause to this event. O(length of the chain)."""
        links = [envelope]
        seen = {(envelope.broker, envelope.seq)}
        while (cause := self.cause_of(links[-1])) is not None and (cause.broker, cause.seq) not in seen:
            seen.add((cause.broker, cause.seq))
            links.append(cause)
        return links[::-1]


def open_recording(path: str) -> list[Envelope]:
    """A whole recording. Raises TraceFormatError, naming the file, when it is none."""
    with open(path, "rb") as file:
        try:
            return list(read_recording(file))
        except TraceFormatError as error:
            raise TraceFormatError(f"{path}: {error}") from error
