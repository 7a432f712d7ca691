"""One stream of events from many processes: the brokers, the supervisor, and ZooKeeper if it emits
events.

Each process sends over its own socket, in its own order, up to a tenth of a second late. All
processes share this machine's monotonic clock. The feed therefore holds each event for a quarter of
a second and hands events on in the order of their time, so a chain of causes never runs backwards
on the screen. When a process ends, the feed reports it as lost and looks for its address file until
the process is back.

If more is sent than can be read, the feed falls behind. One that `sheds` then leaves the hops of
requests out, undecoded, until it has caught up. A Gap says how many they were.

A feed can begin with the past, out of the processes' rings. It then waits for all rings before it
hands on anything.
"""

import asyncio
import heapq
import time
from collections import Counter
from pathlib import Path
from typing import Final

from kafka_edu.instruments.link_events import ClusterKnown, LinkLost, LinkMade
from kafka_edu.supervisor.action_client import (
    ActionAddress,
    ActionClient,
    ActionRefusedError,
    NoSupervisorError,
)
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import (
    EVENT_TYPES,
    SUPERVISOR,
    ZOOKEEPER,
    Envelope,
    Level,
    Source,
    SourceKind,
)
from kafka_edu.trace.events.trace import Gap, RingEnds
from kafka_edu.trace.reader import order
from kafka_edu.trace.trace_client import EventsAddress, LevelSwitch, subscribe
from kafka_edu.trace.wire_format import TraceFormatError

HOLD_BACK_US: Final = 250_000
PAST_PATIENCE_US: Final = 5_000_000
"""A process that is paused sends no ring. The others' events then come without it."""
LOOK_EVERY_S: Final = 0.25
MAX_HELD: Final = 200_000
BEHIND_US: Final = 3_000_000
"""Above this lateness hops are left out, because facts matter more."""
CAUGHT_UP_US: Final = 1_000_000


def now_us() -> int:
    """Return the time in µs of the clock with which all processes on this machine stamp their
    events.
    """
    return time.monotonic_ns() // 1000


def event_files(folder: ClusterFolder) -> dict[Source, Path]:
    """Map each process to the file with the address of its event socket, there or not."""
    files = {SUPERVISOR: folder.supervisor_events, ZOOKEEPER: folder.zookeeper_events}
    for path in sorted(folder.path.glob("broker-*/events.json")):
        digits = path.parent.name.removeprefix("broker-")
        if digits.isdigit():
            files[Source.of_broker(int(digits))] = path
    for path in sorted(folder.path.glob("client-*/events.json")):
        digits = path.parent.name.removeprefix("client-")
        if digits.isdigit():
            files[Source(SourceKind.CLIENT, int(digits))] = path
    return files


def _link(teller: Source, event: LinkMade | LinkLost | ClusterKnown) -> Envelope:
    return Envelope(teller, 0, 0, time.time_ns() // 1_000_000, now_us(), event)


class TraceFeed:
    """Subscribe to every process that emits events. `drain` returns the events that are ready.

    `run` must be a task of the loop that calls `drain`.
    """

    def __init__(
        self,
        folder: ClusterFolder,
        level: Level = Level.STATE,
        since_us: int | None = None,
        *,
        sheds: bool = False,
    ) -> None:
        """`since_us` asks for the past too, from that time of the monotonic clock. 0: all of it.
        `sheds`: being late is worse than missing hops.
        """
        self._sheds = sheds
        self._folder = folder
        self._level = LevelSwitch(level)
        self._since_us = since_us
        self._begun_us = now_us()
        self._past_read: set[Source] = set()
        """The processes whose ring has been read to its end, or that cannot be reached."""
        self._held: list[tuple[tuple[int, Source, int], int, Envelope]] = []
        self._arrived = 0
        self._seen_us: dict[Source, int] = {}
        """The time of the last event of each process."""
        self._late_us: dict[Source, int] = {}
        """How old the last event of each process was when it was read, the past left out."""
        self._drained_us = self._begun_us
        self._behind = False
        self._readers: dict[Source, asyncio.Task[None]] = {}
        self._linked: set[Source] = set()
        self._known = False
        self.left_out: Counter[str] = Counter()
        """Events that were not handed on, by their type, because there was no time."""

    def complete(self) -> bool:
        """Return whether every process that has published its address has sent something."""
        return self._known and self._linked >= {
            teller for teller, path in event_files(self._folder).items() if path.exists()
        }

    def late_us(self) -> int:
        """Return how late events are read here, in µs, of the process whose events are latest.

        They are some tenths of a second late while all is well: each process sends ten times a
        second. If more is sent than can be read, they become seconds late.
        """
        return max(self._late_us.values(), default=0)

    def _look_at_lateness(self) -> None:
        """Begin to leave hops out, or stop. A reader that has not taken what is held is as late as
        one whose sockets are full.
        """
        late_us = max(self.late_us(), now_us() - self._drained_us)
        self._behind = late_us > (CAUGHT_UP_US if self._behind else BEHIND_US)

    def _leaves_out(self, name: str) -> bool:
        """Return whether events of this name are left out now: hops, those of slow requests too."""
        if not self._behind:
            return False
        known = EVENT_TYPES.get(name)
        return known is not None and known.level is not Level.STATE

    def listen_at(self, level: Level) -> None:
        """Ask every process for the events of this level from now on."""
        self._level.set(level)

    async def run(self) -> None:
        """Look for processes and listen to each one. Ends only when cancelled."""
        first = True
        try:
            while True:
                if not self._known:
                    self._known = await asyncio.to_thread(self._ask_status)
                for teller, path in event_files(self._folder).items():
                    reader = self._readers.get(teller)
                    if path.exists() and (reader is None or reader.done()):
                        since_us = self._since_us if first else self._missed_since(teller)
                        listening = self._listen(teller, path, since_us)
                        self._readers[teller] = asyncio.create_task(listening)
                first = False
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            for reader in self._readers.values():
                reader.cancel()
            await asyncio.gather(*self._readers.values(), return_exceptions=True)

    def _ask_status(self) -> bool:
        """Ask the supervisor since when the cluster is up. No event tells this to a late
        subscriber.
        """
        try:
            with ActionClient(
                ActionAddress.read(self._folder.action_address), timeout_s=5.0
            ) as client:
                status = client.ask("status").get("status")
        except (NoSupervisorError, ActionRefusedError):
            return False
        match status:
            case {
                "name": str(name),
                "up_s": int() | float() as up_s,
                "zookeeper": {"kind": str(kind), "connect": str(connect)},
            }:
                self._take(
                    _link(
                        SUPERVISOR,
                        ClusterKnown(
                            name, int(up_s * 1000), connect if kind == "external" else kind
                        ),
                    )
                )
        return True

    def _missed_since(self, teller: Source) -> int:
        """Return from when on a process has facts that this feed has not got.

        A process that has started again emits facts before anybody can listen: a follower cuts its
        log back then. They are in its ring.
        """
        return self._seen_us.get(teller, self._begun_us) + 1

    async def _listen(self, teller: Source, path: Path, since_us: int | None) -> None:
        """Listen to one process until it is gone. With `since_us`, to its past from then on too."""
        try:
            address = EventsAddress.read(str(path))
        except (OSError, TraceFormatError):
            return  # the file is being written, or has gone again
        told = False
        reason = "closed"
        left_out = 0

        def wanted(name: str) -> bool:
            nonlocal left_out
            leaves_out = self._leaves_out(name)
            left_out += leaves_out
            if leaves_out:
                self.left_out[name] += 1
            return not leaves_out

        try:
            async for envelope in subscribe(
                address,
                self._level,
                gauges=True,
                since_us=since_us,
                wanted=wanted if self._sheds else None,
            ):
                if since_us is not None and envelope.mono_us < since_us:
                    continue  # a ring begins at a keyframe, which is older
                self._seen_us[teller] = envelope.mono_us
                if isinstance(envelope.event, RingEnds):
                    self._past_read.add(teller)
                if since_us is None or teller in self._past_read:
                    self._late_us[teller] = now_us() - envelope.mono_us
                    if self._sheds:
                        self._look_at_lateness()
                if not told:
                    told = True
                    self._linked.add(teller)
                    self._take(_link(teller, LinkMade(address.pid)))
                if left_out and not self._behind:
                    self._take(envelope._replace(event=Gap(dropped=left_out), cause=0))
                    left_out = 0
                self._take(envelope)
        except (
            OSError,
            TraceFormatError,
            ValueError,
        ) as error:  # ValueError: a line longer than the stream's limit
            reason = str(error)
        finally:
            self._past_read.add(teller)
            self._late_us.pop(teller, None)
            if told:
                if teller == SUPERVISOR:
                    self._known = False
                self._linked.discard(teller)
                self._take(_link(teller, LinkLost(reason)))

    def _take(self, envelope: Envelope) -> None:
        """Hold one event. When too many are held, the oldest one is lost."""
        self._arrived += 1
        heapq.heappush(self._held, (order(envelope), self._arrived, envelope))
        if len(self._held) > MAX_HELD:
            heapq.heappop(self._held)

    def drain(self, now: int | None = None) -> list[Envelope]:
        """Return, in order, the events that are old enough that no older one can still arrive. O(n
        log n).
        """
        now = now_us() if now is None else now
        self._drained_us = now
        ripe = now - HOLD_BACK_US
        out: list[Envelope] = []
        if self._past_loading(now):
            return out
        while self._held and self._held[0][0][0] <= ripe:
            out.append(heapq.heappop(self._held)[2])
        return out

    def _past_loading(self, now: int) -> bool:
        """Return whether a ring is still being read, and nobody has waited for too long."""
        if self._since_us is None or now - self._begun_us > PAST_PATIENCE_US:
            return False
        waiting = {teller for teller, path in event_files(self._folder).items() if path.exists()}
        return not self._readers or not self._past_read >= waiting
