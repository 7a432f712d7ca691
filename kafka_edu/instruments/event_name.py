"""Find an event by the name that a person gives it: `b1#4711`, or `LeaderElected web-1`."""

import difflib
import re
from collections.abc import Sequence
from typing import Final

from kafka_edu.instruments.sentences import SHORT_NAMES, teller
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Event, Kind, fields_of

_NUMBERED: Final = re.compile(r"([a-z]+)(\d*)#(\d+)")
_KINDS: Final = {short: kind for kind, short in SHORT_NAMES.items()}


class UnknownEventError(Exception):
    """No event fits the given name. The message says what to write instead."""


def event_name(envelope: Envelope) -> str:
    """Return the name by which `find_event` finds this event: `b1#4711`."""
    return f"{teller(envelope.source)}#{envelope.seq}"


def find_event(envelopes: Sequence[Envelope], words: Sequence[str]) -> Envelope:
    """Return the event with this name. If several events fit, return the last one.

    `b1#4711` is fact 4711 of broker 1. The name of an event type may be followed by words that the
    event's fields must contain: a topic, `web-1` for a partition, a path, a client id. Raises
    UnknownEventError.
    """
    facts = [e for e in envelopes if EVENT_TYPES[e.name].kind is Kind.FACT]
    if not facts:
        raise UnknownEventError("nothing is recorded: there are no facts")
    name, *rest = words
    if match := _NUMBERED.fullmatch(name):
        short, number, seq = match.groups()
        return _numbered(facts, short, number, int(seq))
    kinds = {known.lower(): known for known in EVENT_TYPES}
    kind = kinds.get(name.lower())
    if kind is None:
        near = difflib.get_close_matches(name.lower(), kinds, 1)
        hint = f"did you mean {kinds[near[0]]}?" if near else "docs/events.md names them all"
        raise UnknownEventError(f"there is no event '{name}': {hint}")
    of_kind = [e for e in facts if e.name == kind]
    fits = [e for e in of_kind if all(_holds(e.event, word) for word in rest)]
    if not fits:
        count = f"none of {len(of_kind)} {kind} holds" if of_kind else f"no {kind} was recorded"
        raise UnknownEventError(f"{count} {' and '.join(rest)}".rstrip() if of_kind else count)
    return max(fits, key=lambda e: e.mono_us)


def _numbered(facts: Sequence[Envelope], short: str, number: str, seq: int) -> Envelope:
    kind = _KINDS.get(short)
    if kind is None:
        raise UnknownEventError(
            f"'{short}{number}' is not a process: b0, b1, … are brokers, zk is ZooKeeper, sup the"
            " supervisor"
        )
    own = [e for e in facts if e.source.kind is kind and teller(e.source) == f"{short}{number}"]
    if not own:
        known = ", ".join(sorted({teller(e.source) for e in facts}))
        raise UnknownEventError(f"no fact of {short}{number} is here, only of: {known}")
    found = [e for e in own if e.seq == seq]
    if not found:
        first, last = min(e.seq for e in own), max(e.seq for e in own)
        raise UnknownEventError(
            f"{short}{number}#{seq} is not here: there are facts {first} to {last}, and of the"
            " hops only those that were recorded"
        )
    return found[-1]


def _holds(event: Event, word: str) -> bool:
    """Return whether this word is one of the event's values, or its partition (`web-1`)."""
    fields = fields_of(event)
    values = [*fields.values(), f"{fields.get('topic')}-{fields.get('partition')}"]
    return any(_is(value, word) for value in values)


def _is(value: object, word: str) -> bool:
    if isinstance(value, tuple):
        return any(_is(one, word) for one in value)
    return str(value) == word
