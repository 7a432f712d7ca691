"""Send events over a socket to subscribers: the dashboard, graders, demos (spec M1).

A subscriber connects to a loopback port and sends one line: `{"token": "…", "level": "state" |
"hops" | "all", "gauges": true}`. It gets the header and a snapshot. After that it gets every fact
of its own level, whatever other subscribers want, and ten times a second the gauges. A subscriber
that reads too slowly loses events and never blocks the broker. When it has caught up, it gets a Gap
and a new snapshot.

Each event is encoded once for all subscribers. Of one fact that cost 3.5 µs with one subscriber and
9.4 µs with three when each encoded it alone; now it costs 3.6 and 3.8 µs.
"""

import hmac
import json
import os
from collections.abc import Callable
from functools import cache
from typing import Final

from kafka_edu.common.time import Time
from kafka_edu.common.transport import Listener, Transport, Wire, WireReceiver
from kafka_edu.common.user_files import write_private_json
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.trace import Gap
from kafka_edu.trace.file_sink import snapshot_lines
from kafka_edu.trace.tracer import Tracer
from kafka_edu.trace.wire_format import encode, encode_header

MAX_UNSENT_BYTES: Final = 4 * 1024 * 1024
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
        self.admitted = False

    def data_received(self, data: memoryview) -> None:
        if self.admitted:
            return
        self._hello += bytes(data)
        if b"\n" not in self._hello:
            if len(self._hello) > MAX_HELLO_BYTES:
                self._wire.close()
            return
        try:
            hello = json.loads(self._hello)
            self.level = Level(hello.get("level", "state"))
            self.wants_gauges = bool(hello.get("gauges", True))
            token = str(hello["token"])
        except (ValueError, KeyError, TypeError, AttributeError):
            self._refuse(
                'the first line must be {"token": "...", "level": "state" | "hops" | "all",'
                ' "gauges": true | false}'
            )
            return
        if not hmac.compare_digest(token.encode(), self._server.token.encode()):
            self._refuse("wrong token: it stands in the broker's events file")
            return
        self.admitted = True
        self._server.admit(self)

    def _refuse(self, reason: str) -> None:
        self._wire.send([json.dumps({"error": reason}).encode() + b"\n"])
        self._wire.close()

    def begin(self, tracer: Tracer, cluster: str) -> None:
        self._lines.append(encode_header(tracer.source, cluster))
        self._lines.extend(snapshot_lines(tracer))
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

    def tick(self, tracer: Tracer, gauges: Callable[[], list[bytes]]) -> None:
        """Send what has gathered, and the gauges; after a drop, once the wire is empty, a Gap and a
        new snapshot.
        """
        if self._dropped and self._wire.unsent == 0:
            dropped, self._dropped = self._dropped, 0
            gap = Envelope(
                tracer.source,
                tracer.seq,
                0,
                tracer.time.milliseconds(),
                tracer.time.nanoseconds() // 1000,
                Gap(dropped=dropped),
            )
            self._lines.append(encode(gap))
            self._lines.extend(snapshot_lines(tracer))
        if self.wants_gauges and not self._dropped and self._wire.unsent < MAX_UNSENT_BYTES:
            self._lines.extend(gauges())
        self.flush()

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None:
        self._server.gone(self)


class EventServer:
    """The loopback port that serves a process's events. `run` must be a task of its loop."""

    def __init__(
        self, tracer: Tracer, transport: Transport, time: Time, token: str, cluster: str = ""
    ) -> None:
        self._tracer = tracer
        self._transport = transport
        self._time = time
        self.token = token
        self._cluster = cluster
        self._listener: Listener | None = None
        self._subscribers: list[Subscriber] = []
        self._encoded: Envelope | None = None
        self._line = b""

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen for subscribers and return the port."""
        self._listener = await self._transport.listen(host, port, self._on_wire)
        return self._listener.port

    def write_address(self, path: str | os.PathLike[str], host: str, port: int) -> None:
        """Write address and token to a file that only its owner can read. Raises OSError."""
        write_private_json(
            path, {"host": host, "port": port, "token": self.token, "pid": os.getpid()}
        )

    def _on_wire(self, wire: Wire) -> WireReceiver:
        return Subscriber(self, wire)

    def admit(self, subscriber: Subscriber) -> None:
        """Send the snapshot, then begin with facts. Nothing happens in between, because both are on
        one loop.
        """
        subscriber.begin(self._tracer, self._cluster)
        self._subscribers.append(subscriber)
        self._tracer.add_sink(subscriber)

    def line(self, envelope: Envelope) -> bytes:
        """Return the event as a line. The tracer hands each event to all subscribers one after
        another, so remembering one line is enough to encode each event once.
        """
        if envelope is not self._encoded:
            self._encoded, self._line = envelope, encode(envelope)
        return self._line

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
        for each.
        """
        gauges = cache(lambda: [encode(envelope) for envelope in self._tracer.gauges()])
        for subscriber in tuple(self._subscribers):
            subscriber.tick(self._tracer, gauges)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
