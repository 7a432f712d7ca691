"""Subscribe to a process's event socket: with blocking calls for graders, demos and tests, or with
async calls for the dashboard.

A test can wait for an event instead of sleeping. The broker writes the address of its event socket
to a file that only the file's owner can read: {"host", "port", "token", "pid"}.
"""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple, Protocol

import kafka_edu.trace.events.all  # noqa: F401 - fills the registry of event types
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.wire_format import Decoder, TraceFormatError, name_of

LINES_A_TURN: Final = 200
"""After this many lines the reader lets other tasks run. Decoding this many lines takes about
5 ms.
"""
READ_BYTES: Final = 1 << 16
"""The number of bytes that are read at once, about 300 lines."""
MAX_LINE: Final = 1 << 24


class Reads(Protocol):
    """The direction of a connection from which a subscriber reads."""

    async def read(self, n: int, /) -> bytes: ...


class Writes(Protocol):
    """The direction of a connection to which a subscriber writes."""

    def write(self, data: bytes, /) -> None: ...

    def close(self) -> None: ...


class EventsSource(Protocol):
    """A process whose events can be subscribed to."""

    @property
    def token(self) -> str:
        """The token that a subscriber must send in its first line (`hello_line`)."""
        ...

    async def open(self) -> tuple[Reads, Writes]:
        """Connect. Raises OSError if nothing listens."""
        ...


def hello_line(
    token: str,
    level: Level,
    gauges: bool,
    since_us: int | None = None,
    often: Collection[str] | None = None,
) -> bytes:
    """Return the first line of a subscriber."""
    hello: dict[str, object] = {"token": token, "level": level.value, "gauges": gauges}
    if since_us is not None:
        hello["since_us"] = since_us
    if often is not None:
        hello["often"] = sorted(often)
    return json.dumps(hello).encode() + b"\n"


class EventsAddress(NamedTuple):
    """The address of a process's event socket, and the token that a subscriber must send."""

    host: str
    port: int
    token: str
    pid: int

    @staticmethod
    def read(path: str) -> "EventsAddress":
        """Read the address from the file that the broker has written.

        Raises OSError if there is no file, because the broker does not run. Raises TraceFormatError
        if the file does not contain an address.
        """
        with open(path, encoding="utf-8") as file:
            try:
                fields = json.load(file)
                return EventsAddress(
                    str(fields["host"]),
                    int(fields["port"]),
                    str(fields["token"]),
                    int(fields["pid"]),
                )
            except (ValueError, KeyError, TypeError) as error:
                raise TraceFormatError(
                    f"{path} does not hold the address of an event socket"
                ) from error

    async def open(self) -> tuple[Reads, Writes]:
        """Connect. Raises OSError if no process listens."""
        return await asyncio.open_connection(self.host, self.port, limit=4 * READ_BYTES)


class TraceClient:
    """A blocking subscriber. Iterate over it to get all events, or call `wait_for` to wait for one
    event.
    """

    def __init__(
        self,
        address: EventsAddress,
        level: Level = Level.STATE,
        gauges: bool = False,
        timeout_s: float = 20.0,
        since_us: int | None = None,
    ) -> None:
        """Connect and send the first line. Raises OSError if no process listens.

        With `since_us` past events come first. They begin at this time, or later if the process's
        ring does not go back so far. 0 means all of the past.
        """
        self._socket = socket.create_connection((address.host, address.port), timeout_s)
        self._socket.sendall(hello_line(address.token, level, gauges, since_us))
        self._rest = b""
        self._decoder = Decoder(self._line(timeout_s))

    def _line(self, timeout_s: float | None) -> bytes:
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._rest:
            if end is not None:
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError("no event in time")
                self._socket.settimeout(left)
            else:
                self._socket.settimeout(None)
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the broker closed its event socket")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def next(self, timeout_s: float | None = None) -> Envelope:
        """Return the next event. Raises TimeoutError if none comes in time, and ConnectionError if
        the broker has ended.
        """
        while True:
            envelope = self._decoder.decode(self._line(timeout_s))
            if envelope is not None:
                return envelope

    def wait_for(self, wanted: Callable[[Envelope], bool], timeout_s: float) -> Envelope:
        """Return the first event for which `wanted` returns True.

        Raises TimeoutError if no such event comes within `timeout_s`.
        """
        end = time.monotonic() + timeout_s
        while True:
            envelope = self.next(max(end - time.monotonic(), 0.0))
            if wanted(envelope):
                return envelope

    def __iter__(self) -> Iterator[Envelope]:
        """Yield all events until the broker ends."""
        while True:
            try:
                yield self.next()
            except ConnectionError:
                return

    def close(self) -> None:
        """Close the connection. A thread that waits for an event stops waiting."""
        with suppress(OSError):  # the process has closed the connection
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def __enter__(self) -> "TraceClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LevelSwitch:
    """The level of some subscriptions, and the types of gauges at which a user looks. Both can be
    changed while the subscriptions run.
    """

    def __init__(self, level: Level) -> None:
        self.level = level
        self.often: Collection[str] | None = None
        """The names of the gauge types that are sent often. None means all types."""
        self._writers: set[Writes] = set()

    def set(self, level: Level) -> None:
        """Change the level of all subscriptions, from now on."""
        if level is not self.level:
            self.level = level
            self._send({"level": level.value})

    def look_at(self, names: Collection[str] | None) -> None:
        """Request gauges of these types often, and other gauges once a second, in all
        subscriptions. With None, all types are sent often.
        """
        if names != self.often:
            self.often = names
            self._send({"often": None if names is None else sorted(names)})

    def _send(self, wish: dict[str, object]) -> None:
        for writer in self._writers:
            writer.write(json.dumps(wish).encode() + b"\n")

    @contextmanager
    def of(self, writer: Writes) -> Iterator[None]:
        """Send changes also to this connection, while the `with` block runs."""
        self._writers.add(writer)
        try:
            yield
        finally:
            self._writers.discard(writer)


class Subscription:
    """Receives the event lines of one process as they come, without decoding them. It must be
    closed at the end.
    """

    def __init__(self, reader: Reads, writer: Writes) -> None:
        self._reader = reader
        self.writer = writer
        self._rest = b""

    @classmethod
    async def open(
        cls, source: EventsSource, wish: LevelSwitch, gauges: bool, since_us: int | None
    ) -> "Subscription":
        """Connect and send the subscriber's first line. Raises OSError if no process listens."""
        reader, writer = await source.open()
        writer.write(hello_line(source.token, wish.level, gauges, since_us, wish.often))
        return cls(reader, writer)

    async def lines(self) -> tuple[list[bytes], bool]:
        """Return the next complete lines, and whether all that has arrived is now returned. If
        there are no lines, the process has ended. Raises ValueError if a line is longer than
        MAX_LINE.

        The loop's other tasks get a turn before each call returns, however much has arrived.
        """
        while True:
            await asyncio.sleep(0)
            data = await self._reader.read(READ_BYTES)
            if not data:
                return [], True
            *lines, self._rest = (self._rest + data).split(b"\n")
            if len(self._rest) > MAX_LINE:
                raise ValueError(f"a line is longer than {MAX_LINE} bytes")
            if lines:
                return lines, len(data) < READ_BYTES

    def ask_for_snapshot(self) -> None:
        """Request another snapshot. The process sends it after everything that it has already
        sent.
        """
        self.writer.write(b'{"snapshot": true}\n')

    def close(self) -> None:
        self.writer.close()


async def subscribe(
    source: EventsSource,
    level: Level | LevelSwitch = Level.STATE,
    gauges: bool = True,
    since_us: int | None = None,
    wanted: Callable[[str], bool] | None = None,
) -> AsyncIterator[Envelope]:
    """Yield all events of one process as they come, until the process ends. Raises OSError if no
    process listens. With a LevelSwitch the level can be changed while this runs.

    With `since_us` past events come first, between RingBegins and RingEnds. They begin at this
    time, or later if the process's ring does not go back so far. 0 means all of the past.

    `wanted` gets an event's name and returns whether the event is needed. It is called before the
    event is decoded, because decoding costs forty times as much. However many events wait, the
    loop's other tasks get turns in between.
    """
    switch = level if isinstance(level, LevelSwitch) else LevelSwitch(level)
    subscription = await Subscription.open(source, switch, gauges, since_us)
    try:
        with switch.of(subscription.writer):
            decoder: Decoder | None = None
            while lines := (await subscription.lines())[0]:
                for number, line in enumerate(lines, 1):
                    if number % LINES_A_TURN == 0:
                        await asyncio.sleep(0)
                    if decoder is None:
                        decoder = Decoder(line)
                        continue
                    if wanted is not None and not wanted(name_of(line)):
                        continue
                    envelope = decoder.decode(line)
                    if envelope is not None:
                        yield envelope
            if decoder is None:
                raise TraceFormatError("the process has sent nothing")
    finally:
        subscription.close()
