"""The loads that are running on the cluster (`kafka-edu load`), and their counts."""

from typing import Final

from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.trace.event import Envelope, Source, SourceKind
from kafka_edu.trace.events.client import (
    LoadSampled,
    LoadSnapshot,
    LoadStarted,
    LoadState,
    LoadStopped,
)

from .rates import Rate

LOAD_EVENTS: Final = (LoadStarted, LoadSampled, LoadSnapshot, LoadStopped)


class LoadView:
    """One running load and its counts."""

    def __init__(self, state: LoadState) -> None:
        self.state = state
        self.acked = Rate()
        self.sampled_us = 0
        """When the load's process last reported its counts, in µs of the events' clock."""
        self.stopped = False


class LoadsView:
    """All loads by their process. A stopped load stays until its process is gone."""

    READS: Final = frozenset({*LOAD_EVENTS, LinkLost})
    """The types of events that change this view."""

    def __init__(self) -> None:
        self.loads: dict[Source, LoadView] = {}

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event. O(1)."""
        if envelope.source.kind is not SourceKind.CLIENT:
            return
        match envelope.event:
            case (
                LoadStarted(load=state)
                | LoadSampled(load=state)
                | LoadSnapshot(load=state)
                | LoadStopped(load=state)
            ):
                view = self.loads.setdefault(envelope.source, LoadView(state))
                view.state, view.sampled_us = state, envelope.mono_us
                view.acked.sample(state.acked, envelope.mono_us)
                view.stopped = isinstance(envelope.event, LoadStopped)
            case LinkLost():
                self.loads.pop(envelope.source, None)
            case _:
                pass

    def running(self) -> list[LoadView]:
        """Return the loads, the oldest process first."""
        return [view for _, view in sorted(self.loads.items())]
