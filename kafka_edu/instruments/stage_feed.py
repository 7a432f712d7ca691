"""Read the events of a simulated run, whose processes share one socket and one order.

The feed has the clock of the simulation: its `now_us` is virtual. It never leaves an event out. If
events are taken too slowly, it stops reading, and the simulation waits.
"""

import asyncio
import sys
from collections import Counter, deque
from collections.abc import Callable
from typing import Final

from kafka_edu.instruments.link_events import ClusterKnown, LinkLost, LinkMade
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import SUPERVISOR, Envelope, Event, Level, Source, SourceKind
from kafka_edu.trace.events.simulation import SimulationSampled
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessSnapshot
from kafka_edu.trace.trace_client import EventsAddress, LevelSwitch, subscribe
from kafka_edu.trace.wire_format import TraceFormatError

MOST_WAITING: Final = 20_000
"""While this many events wait to be returned, no more are read."""
LOOK_EVERY_S: Final = 0.05


class StageFeed:
    """Subscribes to the event socket of a simulated run.

    `run` must be a task of the loop that calls `drain`.
    """

    def __init__(self, folder: ClusterFolder, failure: Callable[[], str] = lambda: "") -> None:
        """`failure` returns why the simulation has ended; "" while it runs."""
        self._folder = folder
        self._failure = failure
        self._level = LevelSwitch(Level.STATE)
        self._waiting: deque[Envelope] = deque()
        self._linked: set[Source] = set()
        self._now_us = 0
        self.left_out: Counter[str] = Counter()
        """Always empty: this feed leaves no event out."""
        self.simulation: SimulationSampled | None = None
        """The newest state of the run that was handed on."""
        self.failed = ""
        """Why no more events come. Empty: they come."""
        self._turns = 0

    async def run(self) -> None:
        """Read until the simulation ends."""
        while not self._folder.supervisor_events.exists():
            if failure := self._failure():
                self.failed = failure
                return
            await asyncio.sleep(LOOK_EVERY_S)
        try:
            address = EventsAddress.read(str(self._folder.supervisor_events))
            async for envelope in subscribe(address, self._level, gauges=True):
                self._take(envelope)
                while len(self._waiting) >= MOST_WAITING:
                    await asyncio.sleep(LOOK_EVERY_S)
            self.failed = self._failure() or "the simulation has ended"
        except (OSError, TraceFormatError, ValueError) as error:
            self.failed = self._failure() or f"the simulation cannot be read: {error}"

    def _take(self, envelope: Envelope) -> None:
        self._waiting.append(envelope)
        match envelope.event:
            case ProcessSnapshot(child=child, state="running" | "paused", pid=pid):
                self._link(child, LinkMade(pid), envelope)
            case ProcessSnapshot(child=child) | ProcessEnded(child=child):
                self._link(child, LinkLost("closed"), envelope)
            case SimulationSampled(at_us=at_us) if SUPERVISOR not in self._linked:
                self._link(SUPERVISOR, LinkMade(0), envelope)
                known = ClusterKnown("", at_us // 1_000, "simulated")
                self._waiting.append(envelope._replace(seq=0, cause=0, event=known))
            case _:
                pass

    def _link(self, process: Source, event: Event, at: Envelope) -> None:
        """Add an event about the connection to a process, if it has changed."""
        made = isinstance(event, LinkMade)
        if made != (process in self._linked):
            (self._linked.add if made else self._linked.discard)(process)
            self._waiting.append(at._replace(source=process, seq=0, cause=0, event=event))

    def complete(self) -> bool:
        """Return whether a broker has sent its first events, or nothing will come any more."""
        return bool(self.failed) or any(one.kind is SourceKind.BROKER for one in self._linked)

    def went_back(self) -> bool:
        """Return whether the run goes back before the next event. Then the events that were handed
        on, and that are later than the next event, are void.
        """
        match self._waiting[0].event if self._waiting else None:
            case SimulationSampled(turns=turns) as sampled if turns != self._turns:
                self._turns = turns
                self._now_us = sampled.at_us
                return True
        return False

    def drain(self, now: int | None = None, most: int = sys.maxsize) -> list[Envelope]:
        """Return at most `most` events, in order, and none beyond a moment where the run went back:
        call `went_back` before each call.
        """
        taken: list[Envelope] = []
        while self._waiting and len(taken) < most:
            envelope = self._waiting[0]
            event = envelope.event
            if not isinstance(event, SimulationSampled):
                # A gauge that was taken before the last moment may come after it. The player wants
                # events in the order of their times.
                self._now_us = max(self._now_us, envelope.mono_us)
                taken.append(envelope._replace(mono_us=self._now_us))
            elif event.turns != self._turns:
                break
            elif self._take_state(event):
                # Its own clock may be later: a step of a millisecond ends between two events.
                taken.append(envelope._replace(mono_us=event.at_us))
            self._waiting.popleft()
        return taken

    def _take_state(self, state: SimulationSampled) -> bool:
        """Take over the state of the run. Return whether it belongs to the past that can be shown:
        the clock has moved, and not because the run is executed again.
        """
        self.simulation = state
        if state.state == "replaying":
            return False
        moved = state.at_us != self._now_us
        self._now_us = state.at_us
        return moved

    def now_us(self) -> int:
        """Return the virtual time (µs) up to which events were handed on."""
        return self._now_us

    def late_us(self) -> int:
        """Return 0: the simulation waits for those who watch."""
        return 0

    def to_now(self) -> None:
        """Do nothing: this feed is never late."""

    def listen_at(self, level: Level) -> None:
        """Request the events of this level from now on."""
        self._level.set(level)

    def look_at(self, names: frozenset[str] | None) -> None:
        """Request gauges of these types often, and all others once a second."""
        self._level.look_at(names)
