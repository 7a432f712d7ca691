"""Send events over a socket to subscribers: the dashboard, graders, demos (spec M1).

A subscriber connects to a loopback port and sends one line: `{"token": "…", "level": "state" |
"hops" | "all", "gauges": true}`. It gets the header and a snapshot. After that it gets every fact
of its own level, whatever other subscribers want, and ten times a second the gauges that have
changed. With `"often": ["WheelSampled", …]` it says at which gauges it looks; it gets the others
once a second, and those that have not changed twice a second (`gauge_choice`). A subscriber
that reads too slowly loses events and never blocks the broker. When it has caught up, it gets a Gap
and a new snapshot.

A subscriber may also want the past: `"ring": true`, or `"since_us": 123` for what happened since a
time of the monotonic clock. It then gets the facts of the process's ring before the snapshot,
between RingBegins and RingEnds (`trace_ring`). They are sent piece by piece, as fast as the
subscriber reads.

A subscriber may send `{"level": "…"}` later, in a line of its own: it gets another level from then
on. With `{"often": […]}` it looks at other gauges, with null at all. With `{"snapshot": true}` it
gets a snapshot again, for example because it was too late with
what it had read, and left that out.

A line with `"control": "…"` asks the process to do something in place of sending events: a broker
slows a link, for example (`broker_process`). It gets one line back: `{"ok": true, …}` or
`{"error": "…"}`. The cluster's supervisor uses this door.

An unexpected exception while a connection is served closes this connection, whatever its line says.
The log has the traceback, and EventConnectionFailed the error.

Each event is encoded once for all subscribers. Of one fact that cost 3.5 µs with one subscriber and
9.4 µs with three when each encoded it alone; now it costs 3.6 and 3.8 µs.
"""

import asyncio
import hmac
import json
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Final

from kafka_edu.common.time import Time
from kafka_edu.common.transport import Listener, Transport, Wire, WireReceiver
from kafka_edu.common.user_files import write_private_json
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.trace import EventConnectionFailed, Gap, RingBegins, RingEnds
from kafka_edu.trace.file_sink import snapshot_lines
from kafka_edu.trace.gauge_choice import GaugeChoice
from kafka_edu.trace.trace_ring import DEFAULT_BYTES, DEFAULT_MINUTES, TraceRing
from kafka_edu.trace.tracer import Tracer
from kafka_edu.trace.wire_format import encode, encode_header

log = logging.getLogger(__name__)

ControlHandler = Callable[[Mapping[str, object]], Awaitable[Mapping[str, object]]]

MAX_UNSENT_BYTES: Final = 4 * 1024 * 1024
MAX_UNSENT_PAST: Final = 1024 * 1024
"""The past waits in the ring, not in the connection: more than this is never on its way."""
BLOCKS_AT_ONCE: Final = 32
"""So many blocks of the past are sent in one step of the loop, which takes about 2 ms."""
MAX_HELLO_BYTES: Final = 4096
GAUGE_PERIOD_MS: Final = 100


class Subscriber:
    """One subscriber: a wire and a sink. It gets nothing until its first line is accepted."""

    def __init__(self, server: "EventServer", wire: Wire) -> None:
        self._server = server
        self._wire = wire
        self._hello = b""
        self._dropped = 0
        self._lines: list[bytes] = []
        self.level = Level.STATE
        self.wants_gauges = False
        self.since_us: int | None = None
        """The subscriber wants the past from this time on. None: only what is to come."""
        self.admitted = False
        self._past: _Past | None = None
        self._wants_snapshot = False
        self._choice = GaugeChoice()

    @property
    def name(self) -> str:
        return f"the subscriber {self._wire.peer}"

    def data_received(self, data: memoryview) -> None:
        with self._server.guard(self._wire, "reading a line"):
            self._received(bytes(data))

    def _received(self, data: bytes) -> None:
        self._hello += data
        if self.admitted:
            self._change_level()
            return
        if b"\n" not in self._hello:
            if len(self._hello) > MAX_HELLO_BYTES:
                self._wire.close()
            return
        try:
            first, _, rest = self._hello.partition(b"\n")
            hello = json.loads(first)
            self.level = Level(hello.get("level", "state"))
            self.wants_gauges = bool(hello.get("gauges", True))
            self._choice.look_at(_names(hello.get("often")))
            if hello.get("ring") or "since_us" in hello:
                self.since_us = int(hello.get("since_us", 0))
            token = str(hello["token"]).encode()
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            self._refuse(
                'the first line must be {"token": "...", "level": "state" | "hops" | "all",'
                ' "gauges": true | false, "often": [...], "ring": true | false, "since_us": 123}'
            )
            return
        if not hmac.compare_digest(token, self._server.token.encode()):
            self._refuse("wrong token: it stands in the broker's events file")
            return
        self.admitted = True
        self._hello = rest
        if "control" in hello:
            self._server.control(hello, self._wire)
        else:
            self._server.admit(self)
            if rest:  # the lines of a subscriber in a hurry
                self._change_level()

    def _change_level(self) -> None:
        """Take the lines `{"level": …}`, `{"often": …}` and `{"snapshot": true}` that follow the
        first one. Others are left out.
        """
        *lines, self._hello = self._hello.split(b"\n")
        if len(self._hello) > MAX_HELLO_BYTES:
            self._wire.close()
        for line in lines:
            with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                asked = json.loads(line)
                if asked.get("snapshot") is True:
                    self._wants_snapshot = True
                if "often" in asked:
                    self._choice.look_at(_names(asked["often"]))
                if "level" in asked:
                    self.level = Level(asked["level"])
        if lines:
            self._server.level_changed()

    def _refuse(self, reason: str) -> None:
        self._wire.send([json.dumps({"error": reason}).encode() + b"\n"])
        self._wire.close()

    def begin(self, tracer: Tracer, cluster: str, ring: TraceRing | None) -> None:
        """Send the header, and then the past if the subscriber wants it, or else the present."""
        self._lines.append(encode_header(tracer.source, cluster))
        if self.since_us is None:
            self.begin_present(tracer)
            return
        self._past = past = _Past(tracer, ring, self.since_us)
        self._lines.append(past.begin_line())
        self._send_past()

    def begin_present(self, tracer: Tracer) -> None:
        """Send the snapshot. Facts follow as they happen."""
        self._past = None
        self._lines.extend(snapshot_lines(tracer))
        self.flush()
        self._server.attach(self)

    def _send_past(self) -> None:
        past = self._past
        assert past is not None
        for _ in range(BLOCKS_AT_ONCE):
            if self._wire.unsent > MAX_UNSENT_PAST:
                break
            lines = past.next_lines()
            if not lines:
                self._lines.append(past.end_line())
                self.begin_present(past.tracer)
                return
            self._lines.append(lines)
            self.flush()
        self.flush()

    def accept(self, envelope: Envelope) -> None:
        if self._dropped or self._wire.unsent > MAX_UNSENT_BYTES:
            self._dropped += 1
            return
        self._lines.append(self._server.line(envelope))
        if len(self._lines) >= 256:
            self.flush()

    def flush(self) -> None:
        """Send the gathered lines. A fact waits for this at most one gauge period."""
        if self._lines:
            lines, self._lines = self._lines, []
            self._wire.send([b"".join(lines)])

    def tick(self, tracer: Tracer, gauges: "_Gauges") -> None:
        """Send what has gathered, and the gauges; after a drop, once the wire is empty, a Gap and a
        new snapshot. A subscriber that is still at the past gets more of it.
        """
        if self._past is not None:
            self._send_past()
            return
        if self._dropped and self._wire.unsent == 0:
            dropped, self._dropped = self._dropped, 0
            self._lines.append(_line_now(tracer, Gap(dropped=dropped)))
            self._wants_snapshot = True
        if self._wants_snapshot and not self._dropped:
            self._wants_snapshot = False
            self._lines.extend(snapshot_lines(tracer))
        if self.wants_gauges and not self._dropped:
            if self._wire.unsent < MAX_UNSENT_BYTES:
                self._lines.extend(map(gauges.line, self._choice.choose(gauges.samples)))
            else:
                self._dropped = 1  # many gauges come only when they have changed
        self.flush()

    def all_sent(self) -> None: ...

    def close(self) -> None:
        """End the connection: a subscriber that failed sees the end, and may come back."""
        self._wire.close()

    def connection_lost(self, reason: str) -> None:
        self._past = None
        self._server.gone(self)


def _names(often: object) -> list[str] | None:
    """Return the names of event types out of a line. Raises TypeError if it is no list."""
    if often is None:
        return None
    if not isinstance(often, list):
        raise TypeError("often must be a list of event types")
    return [str(name) for name in often]


class _Gauges:
    """The samples of one tick, taken when the first subscriber wants them; each is encoded once."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._lines: dict[int, bytes] = {}

    @cached_property
    def samples(self) -> list[Envelope]:
        return self._tracer.gauges()

    def line(self, sample: Envelope) -> bytes:
        """Return the line of a sample of this tick, or of one that a subscriber has kept."""
        line = self._lines.get(id(sample))
        if line is None:
            line = self._lines[id(sample)] = encode(sample)
        return line


class _Past:
    """A subscriber's place in the ring. The ring may forget blocks before they are sent."""

    def __init__(self, tracer: Tracer, ring: TraceRing | None, since_us: int) -> None:
        self.tracer = tracer
        self._ring = ring
        self._sent = 0
        self._next = 0
        self._seen = 0
        """The number of the next fact to send, among all that the ring got."""
        if ring is not None:
            ring.close_block()
            self._next = ring.start_for(since_us)

    def begin_line(self) -> bytes:
        ring, start = self._ring, self._next
        if ring is None or start == ring.end_number:
            begins = RingBegins(from_us=0, facts=0, stateless=0, shed=0, enabled=ring is not None)
        else:
            begins = RingBegins(
                from_us=ring.block(start).first_us,
                facts=sum(ring.block(n).facts for n in range(start, ring.end_number)),
                stateless=ring.stateless(start),
                shed=ring.shed_for_bytes,
            )
        return _line_now(self.tracer, begins)

    def next_lines(self) -> bytes:
        """Return the next block's lines, with a Gap where blocks are gone; empty at the end."""
        ring = self._ring
        if ring is None:
            return b""
        if self._next >= ring.end_number:
            ring.close_block()
        number = max(self._next, ring.first_number)
        if number == ring.end_number:
            return b""
        block = ring.block(number)
        lines = block.lines()
        if self._sent and block.before > self._seen:
            gap = Gap(dropped=block.before - self._seen)
            lines = _line_now(self.tracer, gap) + lines
        self._next = number + 1
        self._seen = block.before + block.facts
        self._sent += block.facts
        return lines

    def end_line(self) -> bytes:
        return _line_now(self.tracer, RingEnds(facts=self._sent))


def _line_now(tracer: Tracer, event: Gap | RingBegins | RingEnds) -> bytes:
    """Return the line of an event about the stream itself."""
    return encode(
        Envelope(
            tracer.source,
            tracer.seq,
            0,
            tracer.time.milliseconds(),
            tracer.time.nanoseconds() // 1000,
            event,
        )
    )


class EventServer:
    """The loopback port that serves a process's events. `run` must be a task of its loop."""

    def __init__(
        self,
        tracer: Tracer,
        transport: Transport,
        time: Time,
        token: str,
        *,
        cluster: str = "",
        ring_minutes: float = DEFAULT_MINUTES,
        ring_bytes: int = DEFAULT_BYTES,
        on_control: ControlHandler | None = None,
    ) -> None:
        """Facts go into a ring from now on, unless one of its limits is 0. `on_control` serves
        control lines; it raises OSError or ValueError to refuse.
        """
        self._on_control = on_control
        self._controls: dict[asyncio.Task[None], None] = {}
        self._tracer = tracer
        self._transport = transport
        self._time = time
        self.token = token
        self._cluster = cluster
        self._listener: Listener | None = None
        self._subscribers: list[Subscriber] = []
        self._encoded: Envelope | None = None
        self._line = b""
        self.ring: TraceRing | None = None
        if ring_minutes and ring_bytes:
            self.ring = TraceRing(self.line, ring_minutes, ring_bytes)
            tracer.add_sink(self.ring, "the ring of facts", self._forget_ring)

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen for subscribers and return the port."""
        self._listener = await self._transport.listen(host, port, self._on_wire)
        return self._listener.port

    async def publish(self, path: str | os.PathLike[str], host: str = "127.0.0.1") -> bool:
        """Listen, and write address and token to a file that only its owner can read. Return True.

        If one of the two fails, say so by SinkFailed and in the log, and return False: the process
        goes on, and nobody can watch it.
        """
        try:
            port = await self.listen(host)
            write_private_json(
                path, {"host": host, "port": port, "token": self.token, "pid": os.getpid()}
            )
        except OSError as error:
            self._tracer.say_failed(f"the event socket of {os.fspath(path)}", error)
            return False
        return True

    def _on_wire(self, wire: Wire) -> WireReceiver:
        return Subscriber(self, wire)

    def admit(self, subscriber: Subscriber) -> None:
        """Send what the subscriber wants of the past, then the snapshot."""
        self._subscribers.append(subscriber)
        subscriber.begin(self._tracer, self._cluster, self.ring)

    def control(self, request: Mapping[str, object], wire: Wire) -> None:
        """Serve a control line in a task of its own, answer, and close the connection."""

        async def serve() -> None:
            with self.guard(wire, f"carrying out '{request.get('control')}'"):
                try:
                    if self._on_control is None:
                        raise ValueError("this process takes no control lines")
                    answer: Mapping[str, object] = {"ok": True, **await self._on_control(request)}
                except (OSError, ValueError) as error:
                    answer = {"error": str(error) or type(error).__name__}
                wire.send([json.dumps(answer).encode() + b"\n"])
            wire.close()

        task = asyncio.ensure_future(serve())
        self._controls[task] = None
        task.add_done_callback(lambda done: self._controls.pop(done, None))

    @contextmanager
    def guard(self, wire: Wire, doing: str) -> Iterator[None]:
        """Close a connection after an unexpected exception in its service. It gets the error as a
        line first. The process and all other connections go on.
        """
        try:
            yield
        except Exception as error:
            log.exception("connection %s to the event socket failed at %s", wire.peer, doing)
            what = f"{type(error).__name__}: {error}"
            self._tracer(EventConnectionFailed(peer=wire.peer, doing=doing, error=what))
            refusal = f"it failed at {doing}: {what}; its log has the traceback"
            wire.send([json.dumps({"error": refusal}).encode() + b"\n"])
            wire.close()

    def attach(self, subscriber: Subscriber) -> None:
        """Begin with facts. Nothing happens between the snapshot and this call, because both are on
        one loop.
        """
        if subscriber in self._subscribers:
            self._tracer.add_sink(subscriber, subscriber.name, subscriber.close)

    def line(self, envelope: Envelope) -> bytes:
        """Return the event as a line. The tracer hands each event to all subscribers one after
        another, so remembering one line is enough to encode each event once.
        """
        if envelope is not self._encoded:
            self._encoded, self._line = envelope, encode(envelope)
        return self._line

    def _forget_ring(self) -> None:
        """Serve no past any more, because the ring has failed."""
        self.ring = None

    def level_changed(self) -> None:
        """Let the tracer look at what its sinks want, because one wants another level."""
        self._tracer.levels_changed()

    def gone(self, subscriber: Subscriber) -> None:
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)
            self._tracer.remove_sink(subscriber)

    async def run(self) -> None:
        """Call `tick` ten times a second, until cancelled."""
        while True:
            await self._time.sleep(GAUGE_PERIOD_MS)
            self.tick()

    def tick(self) -> None:
        """Sample and encode the gauges once, if a subscriber wants them, and send what has gathered
        for each. Keep the ring within its limits.
        """
        if self.ring is not None:
            try:
                self.ring.tick(self._now_us(), lambda: snapshot_lines(self._tracer), self._now_us)
            except Exception as error:
                self._tracer.sink_failed(self.ring, error)
        gauges = _Gauges(self._tracer)
        for subscriber in tuple(self._subscribers):
            try:
                subscriber.tick(self._tracer, gauges)
            except Exception as error:
                self._tracer.sink_failed(subscriber, error)
                subscriber.close()  # one that is still at the past is no sink yet

    def _now_us(self) -> int:
        return self._tracer.time.nanoseconds() // 1000

    def close(self) -> None:
        """Send what has gathered, such as how a broker's last moments went, and listen no more."""
        for subscriber in self._subscribers:
            subscriber.flush()
        if self._listener is not None:
            self._listener.close()
