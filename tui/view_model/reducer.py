"""A reducer names the event types that it reads. It gets no other events."""

from collections.abc import Iterable
from typing import Final, Protocol

from kafka_edu.trace.event import Envelope


class Reducer(Protocol):
    """Builds a part of a screen's content from events. It changes only through `apply`."""

    def apply(self, envelope: Envelope) -> None:
        """Update the reducer's state with one event."""


class Routes:
    """Event type → the reducers that read it, in their order. Each type is looked up only once."""

    def __init__(self, reducers: Iterable[tuple[Reducer, frozenset[type] | None]]) -> None:
        """Each reducer comes with the event types that it reads, or None if it reads every
        event.
        """
        self._reducers: Final = tuple(reducers)
        self._by_type: dict[type, tuple[Reducer, ...]] = {}

    def apply(self, envelope: Envelope) -> None:
        """Pass one event to the reducers that read it."""
        kind = type(envelope.event)
        readers = self._by_type.get(kind)
        if readers is None:
            readers = self._by_type[kind] = tuple(
                reducer for reducer, reads in self._reducers if reads is None or kind in reads
            )
        for reducer in readers:
            reducer.apply(envelope)
