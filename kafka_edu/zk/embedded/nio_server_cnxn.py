"""One client's connection: bytes to requests, and replies to bytes (ZooKeeper: NIOServerCnxn.java).
Implements WireReceiver.

The first four bytes decide what it is: a 4-letter word is answered in plain text and the connection
closed; anything else is the length of a ConnectRequest. A length out of range, or a frame that is
not even a request's header, closes this connection and disturbs nobody else. What has arrived of a
frame is kept as it comes; nothing is allocated for what a length announces.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kafka_edu.common.transport import Wire
from kafka_edu.zk.embedded.four_letter_words import WORDS
from kafka_edu.zk.jute.codec import MAX_BUFFER, JuteError
from kafka_edu.zk.jute.proto import ConnectRequest, Request
from kafka_edu.zk.jute.serialization import decode_connect, decode_request

MAX_UNSENT_BYTES: Final = 4 * 1024 * 1024
"""A client that does not read its answers is not read from either, until they are gone."""


class Listener(Protocol):
    """Who serves what a connection brings (ServerCnxnFactory)."""

    def on_connect(self, cnxn: "NioServerCnxn", request: ConnectRequest) -> None: ...

    def on_request(self, cnxn: "NioServerCnxn", xid: int, request: Request) -> None: ...

    def on_word(self, cnxn: "NioServerCnxn", word: str) -> None: ...

    def on_closed(self, cnxn: "NioServerCnxn", reason: str) -> None: ...


class NioServerCnxn:
    """The shell's side of a connection. Owned by the factory; next hop:
    ServerCnxnFactory.on_request.
    """

    def __init__(
        self, wire: Wire, listener: Listener, open_cnxn: Callable[[str], int], now_ms: int
    ) -> None:
        self.wire = wire
        self.id = open_cnxn(wire.peer)
        self.opened_ms = now_ms
        self.connected = False
        """Whether a ConnectRequest came."""
        self.welcomed = False
        """Whether its answer was sent."""
        self.finishing_since_ms: int | None = None
        """When the factory first saw that this one only waits for its client to take the last
        bytes.
        """
        self.received = self.sent = 0
        self.closed = False
        self._listener = listener
        self._buffer = bytearray()
        self._closing = False
        self._reason = ""
        self._full = self._waits = False

    def data_received(self, data: memoryview) -> None:
        if self._closing:
            return
        self._buffer += data
        position = 0
        while not self._closing and len(self._buffer) - position >= 4:
            head = bytes(self._buffer[position : position + 4])
            if not self.connected and head in WORDS:
                self._closing = True
                self._listener.on_word(self, head.decode())
                return
            length = int.from_bytes(head, "big", signed=True)
            if not 0 <= length <= MAX_BUFFER:
                self._hang_up(f"a frame of {length} bytes")
                return
            if len(self._buffer) - position - 4 < length:
                break
            frame = bytes(memoryview(self._buffer)[position + 4 : position + 4 + length])
            position += 4 + length
            self._take(frame)
        if position:
            del self._buffer[:position]

    def all_sent(self) -> None:
        if self._closing:
            self.wire.close()
        elif self._full:
            self._full = False
            self._flow()

    def connection_lost(self, reason: str) -> None:
        self.closed = self._closing = True
        self._listener.on_closed(self, self._reason or reason)

    def send(self, parts: Sequence[bytes]) -> None:
        """Queue whole frames."""
        self.sent += len(parts)
        self.wire.send(parts)
        if self.wire.unsent > MAX_UNSENT_BYTES:
            self._full = True
            self._flow()

    def wait(self, waits: bool) -> None:
        """Stop reading while the server has its hands full; and read on."""
        self._waits = waits
        self._flow()

    def finish(self) -> None:
        """Close when all is sent; nothing is read any more."""
        self._closing = True
        if self.wire.unsent == 0:
            self.wire.close()

    @property
    def finishing(self) -> bool:
        return self._closing and not self.closed

    def _flow(self) -> None:
        if self._full or self._waits:
            self.wire.pause_reading()
        else:
            self.wire.resume_reading()

    def _take(self, frame: bytes) -> None:
        self.received += 1
        try:
            if self.connected:
                self._listener.on_request(self, *decode_request(frame))
            else:
                request = decode_connect(frame)
                self.connected = True
                self._listener.on_connect(self, request)
        except JuteError as error:
            self._hang_up(f"not a request: {error}")

    def _hang_up(self, reason: str) -> None:
        self._closing = True
        self._reason = reason
        self.wire.close()
