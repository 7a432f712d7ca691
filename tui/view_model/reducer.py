"""A reducer names the events it reads, so that no other event goes to it."""

from collections.abc import Iterable
from typing import Final, Protocol

from kafka_edu.trace.event import Envelope


class Reducer(Protocol):
    """Builds a part of what a screen shows from events. `apply` is the only way in."""

    def apply(self, envelope: Envelope) -> None:
        """Take one event."""


class Routes:
    """Event type → the reducers that read it, in their order. A type is looked up once."""

    def __init__(self, reducers: Iterable[tuple[Reducer, frozenset[type] | None]]) -> None:
        """Each reducer comes with the types that it reads; None: it reads every event."""
        self._reducers: Final = tuple(reducers)
        self._by_type: dict[type, tuple[Reducer, ...]] = {}

    def apply(self, envelope: Envelope) -> None:
        """Hand one event to its reducers."""
        kind = type(envelope.event)
        readers = self._by_type.get(kind)
        if readers is None:
            readers = self._by_type[kind] = tuple(
                reducer for reducer, reads in self._reducers if reads is None or kind in reads
            )
        for reducer in readers:
            reducer.apply(envelope)
