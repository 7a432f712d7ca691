"""Events as lines of JSON: the one form for files and sockets (spec M1, M5).

One event a line: `[broker, seq, cause, wall_ms, mono_us, "Name", [fields in declared order]]`. A
stream begins with a header that names every event type and its fields, so that a recording made
today can be read when the classes have changed: fields are matched by name, unknown events and
fields are left out, missing ones have their defaults, or fail with a clear error.
"""

import json
from collections.abc import Mapping
from typing import Final

from kafka_edu.trace.event import EVENT_TYPES, Envelope

FORMAT_VERSION: Final = 1


class TraceFormatError(Exception):
    """A line or header that is not of this format; says which."""


def encode_header(broker: int, cluster: str = "") -> bytes:
    """The first line of a stream."""
    names = {name: known.fields for name, known in sorted(EVENT_TYPES.items())}
    return (
        json.dumps(
            {
                "kafka-edu-events": FORMAT_VERSION,
                "broker": broker,
                "cluster": cluster,
                "fields": names,
            },
            separators=(",", ":"),
        ).encode()
        + b"\n"
    )


def encode(envelope: Envelope) -> bytes:
    """One line. O(size of the event)."""
    broker, seq, cause, wall_ms, mono_us, event = envelope
    row = [broker, seq, cause, wall_ms, mono_us, type(event).__name__, event]
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _tuples(value: object) -> object:
    """JSON has no tuples; events hold nothing else."""
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


class Decoder:
    """Reads one stream, whose header it has seen."""

    def __init__(self, header: bytes) -> None:
        try:
            head = json.loads(header)
            version, fields = head["kafka-edu-events"], head["fields"]
        except (ValueError, KeyError, TypeError) as error:
            raise TraceFormatError(
                "this is no stream of kafka-edu events: its first line is not their header"
            ) from error
        if version != FORMAT_VERSION:
            raise TraceFormatError(
                f"events of format {version}; this program reads format {FORMAT_VERSION}"
            )
        self.broker: int = head.get("broker", -1)
        self.cluster: str = head.get("cluster", "")
        self._orders: dict[str, list[int] | None] = {}
        self._defaults: dict[str, tuple[object, ...]] = {}
        self._learn(fields)

    def _learn(self, fields: Mapping[str, list[str]]) -> None:
        for name, theirs in fields.items():
            known = EVENT_TYPES.get(name)
            if known is None:
                continue
            ours = known.fields
            missing = [f for f in ours if f not in theirs]
            if unknown := [f for f in missing if f not in known.defaults]:
                raise TraceFormatError(f"event {name} of this stream lacks {', '.join(unknown)}")
            self._defaults[name] = tuple(known.defaults[f] for f in missing)
            places = [*theirs, *missing]
            order = [places.index(f) for f in ours]
            self._orders[name] = None if order == list(range(len(theirs))) else order

    def decode(self, line: bytes) -> Envelope | None:
        """One event, or None for one that this program does not know."""
        try:
            broker, seq, cause, wall_ms, mono_us, name, values = json.loads(line)
        except ValueError as error:
            raise TraceFormatError(f"not an event: {line[:80]!r}") from error
        if name not in self._orders:
            return None
        order = self._orders[name]
        if order is not None:
            values = [*values, *self._defaults[name]]
            values = [values[i] for i in order]
        return Envelope(
            broker, seq, cause, wall_ms, mono_us, EVENT_TYPES[name].make(map(_tuples, values))
        )
