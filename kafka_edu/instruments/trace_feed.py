"""Read the events of all processes as one stream: brokers, the supervisor, ZooKeeper if it has
events.

Each process sends over its own socket, in its own order, up to a tenth of a second late. All
processes share this machine's monotonic clock. So the feed holds each event for a quarter of a
second and then hands events on in the order of their time. A cause always comes before its effect.
When a process ends, the feed reports a LinkLost event. It then looks for the process's address file
until the process is back.

If events arrive faster than they are taken, the feed falls behind. A feed with `sheds` leaves
events out so that it is never far behind: first older samples, then hops, and at last everything
(`backlog` has the rules). Then it requests a new snapshot from each process and continues from the
present. A Gap event says how many facts of each type are missing.

A feed can begin with past events, from the processes' rings. The feed then returns no event before
all rings have been read.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from kafka_edu.instruments.backlog import BEHIND_US, HOLD_BACK_US, Backlog, Stream
from kafka_edu.instruments.link_events import ClusterKnown, LinkLost, LinkMade
from kafka_edu.supervisor.action_client import ActionRefusedError, NoSupervisorError, ask_once
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
from kafka_edu.trace.trace_client import EventsAddress, LevelSwitch, Subscription
from kafka_edu.trace.wire_format import Decoder, TraceFormatError, encode

PAST_PATIENCE_US: Final = 5_000_000
"""How long (µs) to wait for the rings.

A paused process sends none, so the feed then continues without.
"""
LOOK_EVERY_S: Final = 0.25

OnLine = Callable[[str, bytes], None]
"""A function that gets each event when it is read: its type, and its line with the line's end."""


def now_us() -> int:
    """Return the time (µs) of the monotonic clock, which all processes on this machine use for
    events.
    """
    return time.monotonic_ns() // 1000


def event_files(folder: ClusterFolder) -> dict[Source, Path]:
    """Return for each process the file with the address of its event socket.

    The files of the supervisor and of ZooKeeper may not exist yet.
    """
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
    """Subscribes to every process that emits events. `drain` returns the events that are ready.

    `run` must be a task of the loop that calls `drain`.
    """

    def __init__(
        self,
        folder: ClusterFolder,
        level: Level = Level.STATE,
        since_us: int | None = None,
        *,
        sheds: bool = False,
        on_line: OnLine | None = None,
    ) -> None:
        """Read events of this level. With `since_us`, read past events too.

        `since_us` is a time of the monotonic clock from which past events are wanted. 0 means all
        of them. With `sheds`, the feed may leave events out if it would otherwise be late.
        `on_line` is called with each event of each process when it is read, even if the feed leaves
        the event out.
        """
        self._folder = folder
        self._level = LevelSwitch(level)
        self._since_us = since_us
        self._on_line = on_line
        self._begun_us = now_us()
        self._past_read: set[Source] = set()
        """The processes whose ring was read completely, or that could not be reached."""
        self._backlog = Backlog(sheds=sheds)
        self._streams: dict[Stream, Subscription] = {}
        self._seen_us: dict[Source, int] = {}
        """The time (µs) of the last event of each process."""
        self._late_us: dict[Source, int] = {}
        """How old (µs) the last event of each process was when it was read.

        Past events do not count.
        """
        self._readers: dict[Source, asyncio.Task[None]] = {}
        self._linked: set[Source] = set()
        self._known = False

    @property
    def left_out(self) -> Counter[str]:
        """Return the number of events that were left out since the start, by type."""
        return self._backlog.left_out

    def keep(self, names: Collection[str]) -> None:
        """Never leave out events of these types, because somebody waits for one of them."""
        self._backlog.keeps = frozenset(names)

    def complete(self) -> bool:
        """Return whether every process with a published address has sent an event."""
        return self._known and self._linked >= self._waiting()

    def late_us(self) -> int:
        """Return how late (µs) the events of the latest process are handed on.

        Some tenths of a second are normal, because each process sends ten times a second. The delay
        grows to seconds if events arrive faster than they are taken, or if a process sends late.
        """
        return max(self._backlog.late_us(now_us()), *self._late_us.values(), 0)

    def to_now(self) -> None:
        """If the waiting events are late, drop them and request a new snapshot from each
        process.
        """
        if self._backlog.late_us(now_us()) > BEHIND_US:
            self._ask_for_snapshots(self._backlog.leave_out_all(self._streams))

    def ask_for_snapshots(self) -> None:
        """Request a new snapshot from each process. The feed leaves out no event because of it."""
        self._ask_for_snapshots(self._streams)

    def _ask_for_snapshots(self, streams: Collection[Stream]) -> None:
        for stream in streams:
            self._streams[stream].ask_for_snapshot()

    def listen_at(self, level: Level) -> None:
        """Request the events of this level from every process from now on."""
        self._level.set(level)

    def look_at(self, names: frozenset[str] | None) -> None:
        """Request gauges of the types `names` ten times a second, and gauges of all other types
        once a second.

        With None, request all gauges ten times a second.
        """
        self._level.look_at(names)
        self._backlog.looked_at = names

    async def run(self) -> None:
        """Find processes and read the events of each one. Ends only when cancelled."""
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
        """Request the cluster's start time from the supervisor. Return whether it answered.

        A subscriber that connects later cannot learn this time from an event.
        """
        try:
            answer = ask_once(self._folder.action_address, "status", timeout_s=5.0)
        except (NoSupervisorError, ActionRefusedError):
            return False
        match answer.get("status"):
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
        """Return the time (µs) from which on this feed has no facts of a process.

        A restarted process emits facts before the feed can connect to it. For example, a follower
        truncates its log right after the start. The process keeps these facts in its ring.
        """
        return self._seen_us.get(teller, self._begun_us) + 1

    async def _listen(self, teller: Source, path: Path, since_us: int | None) -> None:
        """Read the events of one process until it ends.

        With `since_us`, also read the process's past events from that time on.
        """
        try:
            address = EventsAddress.read(str(path))
        except (OSError, TraceFormatError):
            return  # the address file is incomplete, or was removed
        is_linked = False
        reason = "closed"
        subscription: Subscription | None = None
        stream: Stream | None = None
        try:
            subscription = await Subscription.open(address, self._level, True, since_us)
            with self._level.of(subscription.writer):
                while True:
                    lines, emptied = await subscription.lines()
                    if not lines:
                        break
                    if stream is None:
                        decoder = Decoder(lines.pop(0))
                        past = since_us is not None
                        stream = Stream(teller, decoder, now_us(), past=past)
                        self._streams[stream] = subscription
                    for line in lines:
                        mono_us = self._take_line(stream, line, since_us)
                        if not is_linked and mono_us is not None:
                            is_linked = True
                            self._linked.add(teller)
                            self._take(_link(teller, LinkMade(address.pid)))
                    if emptied:
                        stream.empty_us = now_us()
                    self._ask_for_snapshots(self._backlog.shed(now_us(), self._streams))
        except (
            OSError,
            TraceFormatError,
            ValueError,
        ) as error:  # ValueError: a line that is too long
            reason = str(error)
        finally:
            if subscription is not None:
                subscription.close()
            if stream is not None:
                self._streams.pop(stream, None)
            self._past_read.add(teller)
            self._late_us.pop(teller, None)
            if is_linked:
                if teller == SUPERVISOR:
                    self._known = False
                self._linked.discard(teller)
                self._take(_link(teller, LinkLost(reason)))

    def _take_line(self, stream: Stream, line: bytes, since_us: int | None) -> int | None:
        """Process one line.

        Return the time of its event (µs), or None if the event is too old to be wanted.
        """
        now, teller = now_us(), stream.source
        head = self._backlog.take_line(stream, line, now, since_us or 0)
        if stream.broken:
            raise TraceFormatError(stream.broken)
        if head is None:
            return None  # a ring begins with a snapshot before since_us
        self._seen_us[teller] = head.mono_us
        if not stream.past:
            self._past_read.add(teller)
            self._late_us[teller] = now - head.mono_us
        if self._on_line is not None and head.name in EVENT_TYPES:
            if not stream.decoder.same_fields:
                envelope = stream.decoder.decode(line)
                assert envelope is not None  # its type is known
                self._on_line(head.name, encode(envelope))
            else:
                self._on_line(head.name, line + b"\n")
        return head.mono_us

    def _take(self, envelope: Envelope) -> None:
        """Hold an event that the feed itself emits."""
        self._backlog.take(envelope, now_us())

    def drain(self, now: int | None = None, most: int = sys.maxsize) -> list[Envelope]:
        """Return, in order, at most `most` events for which no older event can arrive any more.

        O(log n) an event.
        """
        now = now_us() if now is None else now
        if self._past_loading(now):
            return []
        self._ask_for_snapshots(self._backlog.shed(now, self._streams))
        return self._backlog.hand_out(now - HOLD_BACK_US, most)

    def rest(self) -> list[Envelope]:
        """Return all held events in order, without waiting for older events."""
        return self._backlog.hand_out(now_us() + HOLD_BACK_US, sys.maxsize)

    def silent(self) -> list[Source]:
        """Return the processes that take connections but have sent no event. Such a process is
        paused.
        """
        return sorted(self._waiting() - self._past_read - self._linked)

    def _waiting(self) -> set[Source]:
        return {teller for teller, path in event_files(self._folder).items() if path.exists()}

    def _past_loading(self, now: int) -> bool:
        """Return whether the feed still waits for a process's past events from its ring."""
        if self._since_us is None or now - self._begun_us > PAST_PATIENCE_US:
            return False
        return not self._readers or not self._past_read >= self._waiting()
