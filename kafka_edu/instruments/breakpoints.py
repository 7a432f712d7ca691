"""Breakpoints: the view of a recording or a live cluster stops when a chosen kind of event happens.
For a simulated cluster, the simulation itself stops too, in the callback that emitted the event.

A breakpoint is a name and a predicate. The predicate returns whether the view must stop at an
event.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from kafka_edu.instruments.sentences import sentence, teller
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events import controller, group, purgatory, replication, supervisor, zk
from kafka_edu.trace.events.network import ResponseSent

LONG_MS: Final = 1_000
_REMEMBERED: Final = 4_096


class Breakpoint(NamedTuple):
    """One row in the table of breakpoints."""

    name: str
    meets: Callable[[Envelope], bool]


def _long_wait(envelope: Envelope) -> bool:
    match envelope.event:
        case purgatory.WaitingOperationSampled(waiting=waits):
            # A fetch waits because its client wants it to: fetch.max.wait.ms.
            return waits.age_ms > LONG_MS and "fetch" not in waits.label.lower()
        case ResponseSent(remote_us=remote_us, follower=False, api_key=api_key):
            return remote_us > LONG_MS * 1000 and api_key != _FETCH
    return False


_FETCH: Final = 1


def _is(*kinds: type) -> Callable[[Envelope], bool]:
    return lambda envelope: isinstance(envelope.event, kinds)


def _unclean(envelope: Envelope) -> bool:
    return isinstance(envelope.event, controller.LeaderElected) and envelope.event.unclean


def _truncated(envelope: Envelope) -> bool:
    match envelope.event:
        case replication.LogTruncatedByEpoch(before=before, after=after):
            return before != after
        case replication.LogTruncatedByRange() | replication.UncleanTruncation():
            return True
    return False


#: All breakpoints. Each has its name in the list that the key `b` opens, and a function that
#: returns whether an event matches.
BREAKPOINTS: Final = (
    Breakpoint("ISR shrinks", _is(replication.IsrShrunk, controller.ReplicaRemovedFromIsr)),
    Breakpoint("ISR grows", _is(replication.IsrExpanded)),
    Breakpoint("a leader changes", _is(controller.LeaderElected)),
    Breakpoint("an unclean election", _unclean),
    Breakpoint("a replica truncates its log", _truncated),
    Breakpoint("a rebalance begins", _is(group.RebalanceStarted)),
    Breakpoint("a request waits > 1 s", _long_wait),
    Breakpoint("a process ends", _is(supervisor.ProcessEnded)),
    Breakpoint("a session expires", _is(zk.SessionExpired)),
    Breakpoint("the controller changes", _is(controller.ControllerElected)),
)


class Hit(NamedTuple):
    """A breakpoint at which the view stops, and the event that caused the stop."""

    name: str
    envelope: Envelope

    @property
    def words(self) -> str:
        """Return breakpoint, process and event as a text: `ISR shrinks · b0: ISR of web-0 …`."""
        return (
            f"{self.name} · {teller(self.envelope.source)}: {sentence(self.envelope.event).text()}"
        )


class Breakpoints:
    """The breakpoints that the user has chosen. At first none is chosen."""

    def __init__(self) -> None:
        self.chosen: set[str] = set()
        self._told: set[tuple[Source, str, int]] = set()
        """Waiting operations that have already stopped the view.

        Each is sampled again and again.
        """

    def toggle(self, name: str) -> None:
        self.chosen ^= {name}

    def hit(self, envelope: Envelope) -> Hit | None:
        """Return the first chosen breakpoint that applies to this event, or None. O(chosen
        breakpoints).
        """
        for point in BREAKPOINTS:
            if point.name in self.chosen and point.meets(envelope) and self._is_new(envelope):
                return Hit(point.name, envelope)
        return None

    def _is_new(self, envelope: Envelope) -> bool:
        if not isinstance(envelope.event, purgatory.WaitingOperationSampled):
            return True
        waits = envelope.event.waiting
        one = envelope.source, waits.purgatory, waits.operation
        if one in self._told:
            return False
        if len(self._told) >= _REMEMBERED:
            self._told.clear()
        self._told.add(one)
        return True
