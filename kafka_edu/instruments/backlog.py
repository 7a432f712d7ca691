"""Hold events until they are handed on, and leave some of them out when there are too many.

Most events are held as undecoded lines. Decoding and showing an event takes fifty times as long as
reading the head of its line. So events that must be left out are never decoded.

A gauge is a sample of one measured object, such as a partition. The backlog leaves out:

- A sample, if a newer sample of the same object is due too. A reader that keeps up loses nothing
  this way, because only one sample of each object is due at a time.
- All held samples and all held hops of requests, once events are BEHIND_US late. New hops are left
  out too, until events are less than CAUGHT_UP_US late.
- After that, samples that come too soon after the last sample of the same object. At first one
  sample a second is kept. Each time that events are BEHIND_US late again, this pause doubles, up to
  LONGEST_PAUSE_US. After each CALM_US in which events are in time, the pause is halved. Samples of
  a type that somebody looks at may come LOOKED_AT_PAUSES times as often, so that no broker seems to
  be silent.
- Everything, once events are SKIP_US late or take more than MAX_BYTES (see `leave_out_all`). A
  snapshot must follow. Nothing is left out while a snapshot is being read. Otherwise the snapshot
  would never be complete. If a process stops in the middle of its snapshot because it was paused,
  the backlog waits for it for at most SNAPSHOT_PATIENCE_US.

An event counts as late if it could have been handed on earlier. An event that its process sent
late, because the process was paused, does not count as late.

The backlog has no clock. The caller passes the time to it, in µs of the monotonic clock.
"""

import heapq
from collections import Counter, deque
from collections.abc import Callable, Collection
from typing import Final

import kafka_edu.trace.events.all  # noqa: F401 - fills the registry of event types
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Level, Source
from kafka_edu.trace.events.trace import Gap, RingEnds, SnapshotBegins, SnapshotEnds
from kafka_edu.trace.wire_format import Decoder, LineHead, TraceFormatError, head_of, thing_of

HOLD_BACK_US: Final = 250_000
"""How long an event is held (µs), because an older event of another process may still arrive."""
BEHIND_US: Final = 1_500_000
"""From this delay (µs) on, events are left out.

The dashboard must never be more than 3 s late, and a busy machine takes a second for one turn.
"""
CAUGHT_UP_US: Final = 750_000
SKIP_US: Final = 10_000_000
SNAPSHOT_PATIENCE_US: Final = 20_000_000
"""The longest time (µs) for receiving a snapshot. After it, events that are SKIP_US late are left
out again.
"""
FIRST_PAUSE_US: Final = 1_000_000
LONGEST_PAUSE_US: Final = 4_000_000
CALM_US: Final = 15_000_000
LOOKED_AT_PAUSES: Final = 8
MOST_THINGS: Final = 5_000
"""The number of measured objects whose last sample time is remembered."""
MAX_BYTES: Final = 16 * 1024 * 1024
MAX_BYTES_UNSHED: Final = 128 * 1024 * 1024
"""The largest number of bytes to hold if events may be late. Above it, the oldest are dropped."""
ENTRY_BYTES: Final = 400
"""Roughly the memory (bytes) that one held event takes in addition to its line."""

FACTS: Final = frozenset(name for name, known in EVENT_TYPES.items() if known.kind is Kind.FACT)
HOPS: Final = frozenset(name for name in FACTS if EVENT_TYPES[name].level is not Level.STATE)
SHED_FIRST: Final = HOPS | {n for n, known in EVENT_TYPES.items() if known.kind is Kind.GAUGE}

_SNAPSHOT_BEGINS: Final = SnapshotBegins.__name__
_SNAPSHOT_ENDS: Final = SnapshotEnds.__name__
_RING_ENDS: Final = RingEnds.__name__
_GAP: Final = Gap.__name__


class Stream:
    """The events of one connection to a process."""

    def __init__(self, source: Source, decoder: Decoder, now_us: int, *, past: bool) -> None:
        """Begin to read a process.

        `past` says that the process first sends old events from its ring.
        """
        self.source = source
        self.decoder = decoder
        self.empty_us = now_us
        """The last time at which the process's socket was known to be empty.

        Later events arrived after this time.
        """
        self.past = past
        """Whether the events read now are still old ones from the process's ring."""
        self.skipping = False
        """Whether all events up to the next snapshot are left out."""
        self.settling_since_us: int | None = None
        """The time (µs) at which the first line of a requested snapshot was read.

        None if no such snapshot is being read, or if it was handed on completely.
        """
        self.missing: Counter[str] = Counter()
        """The facts that were left out and not yet counted by a Gap event, by type."""
        self.broken = ""
        """The reason why a line of this stream cannot be decoded. Empty if there is no such
        line.
        """


class _Held:
    """One held event: a line or an envelope. `event` is None once it has been left out."""

    __slots__ = ("due_us", "event", "name", "size", "stream", "thing")

    def __init__(
        self,
        event: bytes | Envelope,
        name: str,
        stream: Stream | None,
        due_us: int,
        thing: tuple[Source, str, bytes] | None,
    ) -> None:
        self.event: bytes | Envelope | None = event
        self.name = name
        self.stream = stream
        self.due_us = due_us
        """The earliest time (µs) at which the event could be handed on."""
        self.thing = thing
        self.size = ENTRY_BYTES + (len(event) if isinstance(event, bytes) else 0)


class Backlog:
    """Holds events until they are due, in order of their time.

    If there are too many events, it leaves some out. It holds at most MAX_BYTES, plus the events
    that `leave_out_all` must keep.
    """

    def __init__(self, *, sheds: bool) -> None:
        """Begin empty. If `sheds` is false, events are left out only above MAX_BYTES_UNSHED."""
        self.left_out: Counter[str] = Counter()
        """The number of events that were left out since the start, by type.

        This includes events that a process could not send, because nobody read them in time.
        """
        self.keeps: Collection[str] = frozenset()
        """The types of facts that are never left out, because a caller waits for one of them."""
        self.bytes = 0
        """Roughly the memory that the held events take, in bytes."""
        self.looked_at: Collection[str] | None = None
        """The types of gauges that the current screen shows. None means all types."""
        self.behind = False
        """Whether the hops of requests are left out now, because events are late."""
        self.pause_us = 0
        """The shortest time between two samples of one object, in µs. 0 if all samples are kept."""
        self._calm_since_us = 0
        self._sampled_us: dict[tuple[Source, str, bytes], int] = {}
        """When the last sample of each object was taken (µs). Used only while there is a pause."""
        self._sheds = sheds
        self._heap: list[tuple[int, Source, int, int, _Held]] = []
        self._ready: deque[_Held] = deque()
        """The events that are due, in order."""
        self._newest: dict[tuple[Source, str, bytes], _Held] = {}
        """The newest sample of each measured object among `_ready`."""
        self._arrived = 0

    def take(self, envelope: Envelope, now_us: int) -> None:
        """Hold an event that was not read as a line. O(log n)."""
        due_us = max(envelope.mono_us + HOLD_BACK_US, now_us)
        held = _Held(envelope, envelope.name, None, due_us, None)
        self._push(envelope.mono_us, envelope.source, envelope.seq, held)

    def take_line(
        self, stream: Stream, line: bytes, now_us: int, since_us: int = 0
    ) -> LineHead | None:
        """Hold one line that was read now, or leave it out. Return the line's head. O(log n), 4 µs.

        Returns None if the event is older than `since_us`. Such an event is not held.

        Raises TraceFormatError if the line is no event.
        """
        head = head_of(line)
        name = head.name
        if head.mono_us < since_us:
            return None
        if name not in EVENT_TYPES:
            return head
        if name == _SNAPSHOT_BEGINS and stream.skipping:
            stream.skipping, stream.settling_since_us = False, now_us
        elif name == _RING_ENDS:
            stream.past = False
        elif name == _GAP and not stream.past:
            self._note_gap(stream, line)
        if name not in self.keeps and (stream.skipping or (self.behind and name in HOPS)):
            self._leave_out(stream, name)
            return head
        if stream.missing and not stream.skipping and (not self.behind or name == _SNAPSHOT_BEGINS):
            self._tell_gap(stream, head, now_us)
        named: bytes | None = None
        if self._sheds and stream.decoder.same_fields and name not in self.keeps:
            named = thing_of(line, head)
        thing = None if named is None else (stream.source, name, named)
        if thing is not None and self.pause_us and self._too_soon(thing, head.mono_us):
            self._leave_out(stream, name)
            return head
        # This line arrived after the socket was last empty, even if its event is much older.
        due_us = max(head.mono_us + HOLD_BACK_US, now_us if stream.past else stream.empty_us)
        self._push(head.mono_us, stream.source, head.seq, _Held(line, name, stream, due_us, thing))
        return head

    def _too_soon(self, thing: tuple[Source, str, bytes], mono_us: int) -> bool:
        """Return whether to leave out a sample, because another sample of its object came just
        before.
        """
        often = self.looked_at is None or thing[1] in self.looked_at
        pause_us = self.pause_us // LOOKED_AT_PAUSES if often else self.pause_us
        if mono_us - self._sampled_us.get(thing, mono_us - pause_us) < pause_us:
            return True
        if len(self._sampled_us) >= MOST_THINGS:
            self._sampled_us.clear()
        self._sampled_us[thing] = mono_us
        return False

    def _push(self, mono_us: int, source: Source, seq: int, held: _Held) -> None:
        self._arrived += 1
        self.bytes += held.size
        heapq.heappush(self._heap, (mono_us, source, seq, self._arrived, held))
        if self.bytes > MAX_BYTES_UNSHED and not self._sheds:
            self._forget(heapq.heappop(self._heap)[4])

    def _leave_out(self, stream: Stream | None, name: str) -> None:
        self.left_out[name] += 1
        if stream is not None and name in FACTS:
            stream.missing[name] += 1

    def _note_gap(self, stream: Stream, line: bytes) -> None:
        """Count the events of a Gap: those that the process could not send and dropped itself."""
        try:
            envelope = stream.decoder.decode(line)
        except TraceFormatError:
            return  # the line is decoded again when it is handed on, and reported then
        if envelope is not None and isinstance(envelope.event, Gap):
            self.left_out.update(dict(envelope.event.by_type))

    def _tell_gap(self, stream: Stream, before: LineHead, now_us: int) -> None:
        """Insert a Gap event before this line.

        The Gap says how many facts of the stream were left out.
        """
        missing, stream.missing = stream.missing, Counter()
        gap = Gap(dropped=missing.total(), by_type=tuple(missing.most_common()))
        envelope = Envelope(stream.source, before.seq, 0, before.wall_ms, before.mono_us, gap)
        self.take(envelope, now_us)

    def hand_out(self, until_us: int, most: int) -> list[Envelope]:
        """Return at most `most` of the events up to the time `until_us`, in order.

        O(log n) for each event.

        If there are several samples of one object up to that time, only the newest sample is
        returned.
        """
        self._ripen(until_us)
        out: list[Envelope] = []
        while self._ready and len(out) < most:
            held = self._ready.popleft()
            event, held.event = held.event, None
            if event is None:
                continue
            self.bytes -= held.size
            if held.thing is not None and self._newest.get(held.thing) is held:
                del self._newest[held.thing]
            if isinstance(event, bytes):
                envelope = self._decoded(held, event)
                if envelope is not None:
                    out.append(envelope)
            else:
                out.append(event)
        return out

    def _decoded(self, held: _Held, line: bytes) -> Envelope | None:
        stream = held.stream
        assert stream is not None
        if held.name == _SNAPSHOT_ENDS and not stream.skipping:
            stream.settling_since_us = None
        if stream.broken:
            return None
        try:
            return stream.decoder.decode(line)
        except TraceFormatError as error:
            stream.broken = str(error)
            return None

    def _ripen(self, until_us: int) -> None:
        heap = self._heap
        while heap and heap[0][0] <= until_us:
            held = heapq.heappop(heap)[4]
            if held.event is None:
                continue
            if held.thing is not None:
                older = self._newest.get(held.thing)
                if older is not None:
                    self._forget(older)
                self._newest[held.thing] = held
            self._ready.append(held)

    def _forget(self, held: _Held) -> None:
        """Leave out a held event. Its entry stays in the heap or the queue, but is empty."""
        held.event = None
        self.bytes -= held.size
        self._leave_out(held.stream, held.name)

    def late_us(self, now_us: int) -> int:
        """Return for how long (µs) the oldest event that could be handed on has waited.

        Return 0 if no event waits.
        """
        while self._ready and self._ready[0].event is None:
            self._ready.popleft()
        while self._heap and self._heap[0][4].event is None:
            heapq.heappop(self._heap)
        first = self._ready[0] if self._ready else self._heap[0][4] if self._heap else None
        return 0 if first is None else max(now_us - first.due_us, 0)

    def shed(self, now_us: int, streams: Collection[Stream]) -> list[Stream]:
        """Leave out events if they are late or take too much memory.

        O(1); O(n) if any are left out.

        Return the streams that now leave out everything up to their next snapshot. The caller must
        request that snapshot.
        """
        if not self._sheds:
            return []
        late_us = self.late_us(now_us)
        settling = any(
            stream.settling_since_us is not None
            and now_us - stream.settling_since_us <= SNAPSHOT_PATIENCE_US
            for stream in streams
        )
        if self.bytes > MAX_BYTES or (late_us > SKIP_US and not settling):
            return self.leave_out_all(streams)
        if late_us > BEHIND_US:
            if not self.behind:
                self.pause_us = min(max(2 * self.pause_us, FIRST_PAUSE_US), LONGEST_PAUSE_US)
            self.behind = True
            self._calm_since_us = now_us
            self._keep_only(lambda held: held.name not in SHED_FIRST or held.name in self.keeps)
        elif self.behind:
            self.behind = late_us > CAUGHT_UP_US
        elif self.pause_us and now_us - self._calm_since_us > CALM_US:
            self._calm_since_us = now_us
            self.pause_us = self.pause_us // 2 if self.pause_us > FIRST_PAUSE_US else 0
            self._sampled_us.clear()
        return []

    def leave_out_all(self, streams: Collection[Stream]) -> list[Stream]:
        """Leave out all held events of these streams, and all that come before their next snapshot.

        O(n).

        Types in `keeps` are not left out. A stream that still sends its past is not touched. Return
        the streams from which a snapshot must now be requested. A stream that has not answered an
        earlier request is not among them.
        """
        skipped = [stream for stream in streams if not stream.past and not stream.skipping]
        for stream in skipped:
            stream.skipping, stream.settling_since_us = True, None
        self._keep_only(
            lambda held: held.stream is None or held.stream.past or held.name in self.keeps
        )
        self.behind = False
        return skipped

    def _keep_only(self, wanted: Callable[[_Held], bool]) -> None:
        for held in (*self._ready, *(entry[4] for entry in self._heap)):
            if held.event is not None and not wanted(held):
                if held.thing is not None:
                    self._newest.pop(held.thing, None)
                self._forget(held)
        self._ready = deque(held for held in self._ready if held.event is not None)
        self._heap = [entry for entry in self._heap if entry[4].event is not None]
        heapq.heapify(self._heap)
