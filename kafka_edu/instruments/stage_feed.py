"""Read the events of a simulated run, whose processes share one socket and one order.

The feed uses the clock of the simulation: `now_us` returns virtual time. The feed never leaves an
event out. If its events are taken too slowly, the feed stops reading, and the simulation waits.
"""

import asyncio
import sys
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafka_edu.instruments.link_events import ClusterKnown, LinkLost, LinkMade
from kafka_edu.trace.event import (
    EVENT_TYPES,
    SUPERVISOR,
    Envelope,
    Event,
    Kind,
    Level,
    Source,
    SourceKind,
)
from kafka_edu.trace.events.client import LoadStarted, LoadStopped
from kafka_edu.trace.events.simulation import SimulationSampled
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessSnapshot
from kafka_edu.trace.trace_client import EventsAddress, EventsSource, LevelSwitch, subscribe
from kafka_edu.trace.wire_format import TraceFormatError

MOST_WAITING: Final = 20_000
"""While this many events wait to be returned, no more are read."""
LOOK_EVERY_S: Final = 0.05


def published(path: Path) -> Callable[[], EventsSource | None]:
    """Return a function that returns the address in a file, or None while there is no file."""

    def find() -> EventsSource | None:
        return EventsAddress.read(str(path)) if path.exists() else None

    return find


class StageFeed:
    """Subscribes to the events of a simulated run.

    `run` must be a task of the loop that calls `drain`.
    """

    def __init__(
        self, find: Callable[[], EventsSource | None], failure: Callable[[], str] = lambda: ""
    ) -> None:
        """Create the feed; `run` starts it.

        `find` returns the address of the events, or None as long as the address is not known.
        `failure` returns why the simulation has ended, or "" while it runs.
        """
        self._find = find
        self._failure = failure
        self._level = LevelSwitch(Level.STATE)
        self._waiting: deque[Envelope] = deque()
        self._linked: set[Source] = set()
        self._links: list[tuple[int, Source, bool]] = []
        """Each change of `_linked`: its time, the process, and whether it is linked since then."""
        self._arrived_turns = 0
        """How often the run has gone back, according to its newest sample."""
        self._now_us = 0
        self.left_out: Counter[str] = Counter()
        """Always empty: this feed leaves no event out."""
        self.simulation: SimulationSampled | None = None
        """The newest state of the run that was handed on."""
        self.failed = ""
        """The reason why the feed has ended. Empty: events still come."""
        self._turns = 0
        self._at_sample = False
        """Whether only gauges have been handed on since the last sample of the run's state."""
        self.on_sample: Callable[[SimulationSampled], None] = lambda sampled: None
        """Gets each sample of the run's state as soon as it arrives."""
        self.may_pass: Callable[[SimulationSampled], bool] = lambda sampled: True
        """Returns whether events after a sample may be handed on. If not, they wait."""

    async def run(self) -> None:
        """Read until the simulation ends."""
        try:
            while (source := self._find()) is None:
                if failure := self._failure():
                    self.failed = failure
                    return
                await asyncio.sleep(LOOK_EVERY_S)
            async for envelope in subscribe(source, self._level, gauges=True):
                self._take(envelope)
                while len(self._waiting) >= MOST_WAITING:
                    await asyncio.sleep(LOOK_EVERY_S)
            self.failed = self._failure() or "the simulation has ended"
        except (OSError, TraceFormatError, ValueError) as error:
            self.failed = self._failure() or f"the simulation cannot be read: {error}"

    def _take(self, envelope: Envelope) -> None:
        self._waiting.append(envelope)
        match envelope.event:
            case SimulationSampled() as sampled:
                if sampled.turns != self._arrived_turns:
                    self._arrived_turns = sampled.turns
                    self._unlink_after(sampled.at_us)
                self.on_sample(sampled)
        match envelope.event:
            case ProcessSnapshot(child=child, state="running" | "paused", pid=pid):
                self._link(child, LinkMade(pid), envelope)
            case ProcessSnapshot(child=child) | ProcessEnded(child=child):
                self._link(child, LinkLost("closed"), envelope)
            case LoadStarted():
                self._link(envelope.source, LinkMade(0), envelope)
            case LoadStopped():
                self._link(envelope.source, LinkLost("closed"), envelope)
            case SimulationSampled(at_us=at_us) if SUPERVISOR not in self._linked:
                self._link(SUPERVISOR, LinkMade(0), envelope)
                known = ClusterKnown("", at_us // 1_000, "simulated")
                self._waiting.append(envelope._replace(seq=0, cause=0, event=known))
            case _:
                pass

    def _link(self, process: Source, event: Event, at: Envelope) -> None:
        """If a process was connected or disconnected, add an event that says so."""
        made = isinstance(event, LinkMade)
        if made != (process in self._linked):
            (self._linked.add if made else self._linked.discard)(process)
            self._links.append((at.mono_us, process, made))
            self._waiting.append(at._replace(source=process, seq=0, cause=0, event=event))

    def _unlink_after(self, at_us: int) -> None:
        """Forget all connections and disconnections after `at_us`, because the run has gone back to
        that time.
        """
        self._links = [change for change in self._links if change[0] <= at_us]
        self._linked = {
            process for process, made in {one: made for _, one, made in self._links}.items() if made
        }

    def complete(self) -> bool:
        """Return whether a broker is connected, or no more events will come because the feed has
        ended.
        """
        return bool(self.failed) or any(one.kind is SourceKind.BROKER for one in self._linked)

    def went_back(self) -> bool:
        """Return whether the run goes back in time before its next event.

        If it does, the events that were already handed on are no longer valid if they are later
        than the next event.
        """
        match self._waiting[0].event if self._waiting else None:
            case SimulationSampled(turns=turns) as sampled if turns != self._turns:
                self._turns = turns
                self._now_us = sampled.at_us
                return True
        return False

    def drain(self, now: int | None = None, most: int = sys.maxsize) -> list[Envelope]:
        """Return at most `most` events, in order.

        The result ends before a moment at which the run went back in time. So `went_back` must be
        called before each call.
        """
        taken: list[Envelope] = []
        while self._waiting and len(taken) < most:
            envelope = self._waiting[0]
            event = envelope.event
            if not isinstance(event, SimulationSampled):
                # A gauge may arrive after later events, but the dashboard needs the events in the
                # order of their times. So a late gauge gets the time of the last event.
                self._now_us = max(self._now_us, envelope.mono_us)
                taken.append(envelope._replace(mono_us=self._now_us))
                self._at_sample = self._at_sample and not _is_fact(envelope)
            elif event.turns != self._turns or not self.may_pass(event):
                break
            elif self._take_state(event):
                # Its own clock may be later: a step of a millisecond ends between two events.
                taken.append(envelope._replace(mono_us=event.at_us))
            self._waiting.popleft()
        return taken

    def _take_state(self, state: SimulationSampled) -> bool:
        """Take over the state of the run.

        Return whether this state must be handed on, so that the dashboard can show it later as
        past. It must if the clock has moved, and the run is not being executed again.
        """
        self.simulation = state
        self._at_sample = state.state != "replaying"
        if state.state == "replaying":
            return False
        moved = state.at_us != self._now_us
        self._now_us = state.at_us
        return moved

    @property
    def stands(self) -> bool:
        """Whether all events were handed on, and only gauges came after the newest sample of the
        run's state.
        """
        return self._at_sample and not self._waiting

    @property
    def waiting(self) -> int:
        """How many events have arrived and were not handed on."""
        return len(self._waiting)

    def waiting_samples(self) -> list[SimulationSampled]:
        """Return the samples of the run's state that have arrived and were not handed on."""
        found = (envelope.event for envelope in self._waiting)
        return [event for event in found if isinstance(event, SimulationSampled)]

    def now_us(self) -> int:
        """Return the virtual time (µs) up to which events were handed on."""
        return self._now_us

    def late_us(self) -> int:
        """Return 0: the simulation waits for its subscribers."""
        return 0

    def to_now(self) -> None:
        """Do nothing: this feed is never late."""

    def listen_at(self, level: Level) -> None:
        """Request the events of this level from now on."""
        self._level.set(level)

    def look_at(self, names: frozenset[str] | None) -> None:
        """Request gauges of the types `names` often, and gauges of all other types once a
        second.
        """
        self._level.look_at(names)


def _is_fact(envelope: Envelope) -> bool:
    """Return whether the event is a fact of a process of the run, and not a gauge."""
    known = EVENT_TYPES.get(envelope.name)
    return envelope.seq != 0 and known is not None and known.kind is Kind.FACT
