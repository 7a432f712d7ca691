"""Send events over a socket to subscribers: the dashboard, graders, demos (spec M1).

A subscriber connects to a loopback port and sends one line: `{"token": "…", "level": "state" |
"hops" | "all", "gauges": true}`. It gets the header and a snapshot. After that it gets every fact
of its own level, whatever other subscribers want. Ten times a second it gets the gauges that have
changed, and twice a second the unchanged ones. With `"often": ["WheelSampled", …]` it names the
gauges that it needs often, and gets all other gauges only once a second (`gauge_choice`). A
subscriber that reads too slowly loses events, but never blocks the broker. When it has caught up,
it gets a Gap event, which counts the lost events by type, and a new snapshot.

A subscriber may also request the past: with `"ring": true`, or with `"since_us": 123` for
everything since a time of the monotonic clock. Then, before the snapshot, it gets the facts in the
process's ring, between RingBegins and RingEnds (`trace_ring`). They are sent in pieces, as fast as
the subscriber reads.

Later a subscriber may send more lines. `{"level": "…"}` changes its level. `{"often": […]}` names
other gauges that it needs often, and null means all gauges. With `{"snapshot": true}` it gets
another snapshot. It needs one, for example, after it has itself skipped events that it could not
process in time.

A line with `"control": "…"` requests an action from the process instead of events. For example, a
broker slows a link (`broker_process`). The process answers with one line: `{"ok": true, …}` or
`{"error": "…"}`. The cluster's supervisor uses such lines.

If an unexpected exception is raised while a connection is served, this connection is closed. The
log has the traceback, and the event EventConnectionFailed has the error.

Each event is encoded once for all subscribers. So a fact costs 3.6 µs with one subscriber, and 3.8
µs with three. If each subscriber encoded it alone, it would cost 3.5 µs with one and 9.4 µs with
three.
"""

import asyncio
import hmac
import json
import logging
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import Final

from kafka_edu.common.time import Time
from kafka_edu.common.transport import Listener, Transport, Wire, WireReceiver
from kafka_edu.common.user_files import write_private_json
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.trace import EventConnectionFailed, Gap, RingBegins, RingEnds
from kafka_edu.trace.file_sink import lines_of_snapshot, snapshot_lines
from kafka_edu.trace.gauge_choice import GaugeChoice
from kafka_edu.trace.trace_ring import DEFAULT_BYTES, DEFAULT_MINUTES, TraceRing
from kafka_edu.trace.tracer import Tracer
from kafka_edu.trace.wire_format import encode, encode_header

log = logging.getLogger(__name__)

ControlHandler = Callable[[Mapping[str, object]], Awaitable[Mapping[str, object]]]

MAX_UNSENT_BYTES: Final = 4 * 1024 * 1024
MAX_UNSENT_PAST: Final = 1024 * 1024
"""The largest number of bytes of the past that may wait in a connection. The rest of the past waits
in the ring.
"""
BLOCKS_AT_ONCE: Final = 32
"""The number of the ring's blocks that are sent in one step of the loop. This takes about 2 ms."""
MAX_HELLO_BYTES: Final = 4096
GAUGE_PERIOD_MS: Final = 100


class Subscriber:
    """A sink that sends events to one subscriber over its connection. It sends nothing until the
    subscriber's first line is accepted.
    """

    def __init__(self, server: "EventServer", wire: Wire) -> None:
        self._server = server
        self._wire = wire
        self._hello = b""
        self._missing: Counter[str] = Counter()
        """The events that were dropped since the last Gap, by type. Empty if none were dropped."""
        self._lines: list[bytes] = []
        self.level = Level.STATE
        self.wants_gauges = False
        self.since_us: int | None = None
        """The time from which the subscriber wants the past, in µs. None means that it wants only
        the present and new events.
        """
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
            self._refuse("wrong token: the right one is in the broker's events file")
            return
        self.admitted = True
        self._hello = rest
        if "control" in hello:
            self._server.control(hello, self._wire)
        else:
            self._server.admit(self)
            if rest:  # more lines came together with the first one
                self._change_level()

    def _change_level(self) -> None:
        """Handle the lines `{"level": …}`, `{"often": …}` and `{"snapshot": true}` that the
        subscriber sends after its first line. Ignore other lines.
        """
        *lines, self._hello = self._hello.split(b"\n")
        if len(self._hello) > MAX_HELLO_BYTES:
            self._wire.close()
        for line in lines:
            with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                wish = json.loads(line)
                if wish.get("snapshot") is True:
                    self._wants_snapshot = True
                if "often" in wish:
                    self._choice.look_at(_names(wish["often"]))
                if "level" in wish:
                    self.level = Level(wish["level"])
        if lines:
            self._server.level_changed()

    def _refuse(self, reason: str) -> None:
        self._wire.send([json.dumps({"error": reason}).encode() + b"\n"])
        self._wire.close()

    def begin(self, tracer: Tracer, cluster: str, ring: TraceRing | None) -> None:
        """Send the header. Then send the past, if the subscriber wants it, or else the snapshot of
        the present.
        """
        self._lines.append(encode_header(tracer.source, cluster))
        if self.since_us is None:
            self.begin_present(tracer)
            return
        self._past = past = _Past(tracer, ring, self.since_us)
        self._lines.append(past.begin_line())
        self._send_past()

    def begin_present(self, tracer: Tracer) -> None:
        """Send the snapshot of the present. After that, send facts as they happen."""
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
        if self._missing or self._wire.unsent > MAX_UNSENT_BYTES:
            self._missing[envelope.name] += 1
            return
        self._lines.append(self._server.line(envelope))
        if len(self._lines) >= 256:
            self.flush()

    def flush(self) -> None:
        """Send the gathered lines. A fact waits for this at most a tenth of a second."""
        if self._lines:
            lines, self._lines = self._lines, []
            self._wire.send([b"".join(lines)])

    @property
    def unsent(self) -> int:
        """The number of bytes that wait in the connection."""
        return self._wire.unsent

    def send_snapshot(self, tracer: Tracer) -> None:
        """Send the gathered lines, and a snapshot of the present after them."""
        self._choice.forget()
        self._lines.extend(snapshot_lines(tracer))
        self.flush()

    def tick(self, tracer: Tracer, gauges: "_Gauges") -> None:
        """Send the gathered lines and the gauges. If the subscriber still reads the past, send more
        of it. If events were dropped, wait until everything was sent, and then send a Gap and a new
        snapshot.
        """
        if self._past is not None:
            self._send_past()
            return
        if self._missing and self._wire.unsent == 0:
            missing, self._missing = self._missing, Counter()
            gap = Gap(dropped=missing.total(), by_type=tuple(missing.most_common()))
            self._lines.append(_line_now(tracer, gap))
            self._wants_snapshot = True
        if self._wants_snapshot and not self._missing:
            self._wants_snapshot = False
            self._lines.extend(snapshot_lines(tracer))
        if self.wants_gauges and not self._missing:
            if self._wire.unsent < MAX_UNSENT_BYTES:
                self._lines.extend(map(gauges.line, self._choice.choose(gauges.samples)))
            else:  # nothing is chosen, because chosen samples count as sent
                self._missing.update(sample.name for sample in gauges.samples)
        self.flush()

    def all_sent(self) -> None: ...

    def close(self) -> None:
        """Close the connection. A subscriber that failed sees the end, and may connect again."""
        self._wire.close()

    def connection_lost(self, reason: str) -> None:
        self._past = None
        self._server.gone(self)


def _names(often: object) -> list[str] | None:
    """Return the names of event types in the value of "often". Raises TypeError if the value is not
    a list.
    """
    if often is None:
        return None
    if not isinstance(often, list):
        raise TypeError("often must be a list of event types")
    return [str(name) for name in often]


class _Gauges:
    """The samples of one tick. They are taken when the first subscriber needs them, and each sample
    is encoded only once.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._lines: dict[int, bytes] = {}

    @cached_property
    def samples(self) -> list[Envelope]:
        return self._tracer.gauges()

    def line(self, sample: Envelope) -> bytes:
        """Return the line of a sample. The sample is of this tick, or an older one that a
        subscriber has kept.
        """
        line = self._lines.get(id(sample))
        if line is None:
            line = self._lines[id(sample)] = encode(sample)
        return line


class _Past:
    """How far a subscriber has read the ring. The ring may drop blocks before they are sent."""

    def __init__(self, tracer: Tracer, ring: TraceRing | None, since_us: int) -> None:
        self.tracer = tracer
        self._ring = ring
        self._sent = 0
        self._next = 0
        self._seen = 0
        """The number of the next fact to send. All facts that the ring ever got are counted."""
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
        """Return the lines of the next block. If blocks before it were dropped, a Gap comes first.
        Return b"" at the end of the ring.
        """
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
    """Return the line of an event about the stream itself, with the current time."""
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
    """Serves the events of a process on a loopback port. `run` must run as a task on the process's
    loop.
    """

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
        """Prepare the server. From now on facts are stored in a ring, unless `ring_minutes` or
        `ring_bytes` is 0. `on_control` handles control lines. It raises OSError or ValueError to
        refuse a line.
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
        """Listen, write the address and the token to a file that only the file's owner can read,
        and return True.

        If listening or writing fails, report it with SinkFailed and in the log, and return False.
        The process then continues, but nobody can watch it.
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
        """Send the past to a new subscriber, if it wants the past, and then the snapshot."""
        self._subscribers.append(subscriber)
        subscriber.begin(self._tracer, self._cluster, self.ring)

    def control(self, request: Mapping[str, object], wire: Wire) -> None:
        """Handle a control line in its own task: send the answer, and close the connection."""

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
        """Return a context that serves a connection. After an unexpected exception it sends the
        error as a line and closes this connection. The process and all other connections continue.
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
        """Begin to send facts to a subscriber. No fact can be missed between the snapshot and this
        call, because both run on one loop without a pause.
        """
        if subscriber in self._subscribers:
            self._tracer.add_sink(subscriber, subscriber.name, subscriber.close)

    def line(self, envelope: Envelope) -> bytes:
        """Return the event as a line. The tracer passes each event to all subscribers one after the
        other. So it is enough to remember the last line to encode each event only once.
        """
        if envelope is not self._encoded:
            self._encoded, self._line = envelope, encode(envelope)
        return self._line

    def _forget_ring(self) -> None:
        """Stop offering the past, because the ring has failed."""
        self.ring = None

    def level_changed(self) -> None:
        """Make the tracer check again which levels its sinks want, because a subscriber has changed
        its level.
        """
        self._tracer.levels_changed()

    def gone(self, subscriber: Subscriber) -> None:
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)
            self._tracer.remove_sink(subscriber)

    async def run(self) -> None:
        """Call `tick` ten times a second until the task is cancelled."""
        while True:
            await self._time.sleep(GAUGE_PERIOD_MS)
            self.tick()

    def tick(self) -> None:
        """Send the gathered events to each subscriber. If a subscriber wants gauges, sample and
        encode them once for all. Remove old blocks from the ring.
        """
        if self.ring is not None:
            try:
                self.ring.tick(
                    self._now_us(), partial(lines_of_snapshot, self._tracer), self._now_us
                )
            except Exception as error:
                self._tracer.sink_failed(self.ring, error)
        gauges = _Gauges(self._tracer)
        for subscriber in tuple(self._subscribers):
            try:
                subscriber.tick(self._tracer, gauges)
            except Exception as error:
                self._tracer.sink_failed(subscriber, error)
                subscriber.close()  # a subscriber that still reads the past is not a sink

    @property
    def watched(self) -> bool:
        """Whether somebody is subscribed."""
        return bool(self._subscribers)

    @property
    def unsent(self) -> int:
        """The number of bytes that wait for the slowest subscriber."""
        return max((subscriber.unsent for subscriber in self._subscribers), default=0)

    def flush(self) -> None:
        """Send the gathered events to each subscriber now."""
        for subscriber in self._subscribers:
            subscriber.flush()

    def send_snapshots(self) -> None:
        """Send a snapshot to each subscriber now, because what it knows is void."""
        for subscriber in tuple(self._subscribers):
            subscriber.send_snapshot(self._tracer)

    def _now_us(self) -> int:
        return self._tracer.time.nanoseconds() // 1000

    def close(self) -> None:
        """Send the gathered events, such as the last events of a broker that stops, and stop
        listening.
        """
        self.flush()
        if self._listener is not None:
            self._listener.close()
