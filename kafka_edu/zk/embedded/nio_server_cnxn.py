"""One client's connection: decode bytes to requests, and send replies (ZooKeeper:
NIOServerCnxn.java). Implements WireReceiver.

The first four bytes are either a four-letter word or the length of a ConnectRequest. After a
four-letter word, the server answers in plain text and closes the connection.

If a length is out of range, or a frame has no complete request header, the server closes only this
connection. An incomplete frame needs memory only for the bytes that have arrived, no matter what
length the client has announced.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kafka_edu.common.transport import Wire
from kafka_edu.zk.embedded.four_letter_words import WORDS
from kafka_edu.zk.jute.codec import MAX_BUFFER, JuteError
from kafka_edu.zk.jute.proto import ConnectRequest, Request
from kafka_edu.zk.jute.serialization import decode_connect, decode_request

MAX_UNSENT_BYTES: Final = 4 * 1024 * 1024
"""The largest number of answer bytes that may wait for one client. Above it the server reads no
more requests from the client, until the client has read its answers.
"""


class Listener(Protocol):
    """The object that handles the requests of a connection (ServerCnxnFactory)."""

    def on_connect(self, cnxn: "NioServerCnxn", request: ConnectRequest) -> None: ...

    def on_request(self, cnxn: "NioServerCnxn", xid: int, request: Request) -> None: ...

    def on_word(self, cnxn: "NioServerCnxn", word: str) -> None: ...

    def on_closed(self, cnxn: "NioServerCnxn", reason: str) -> None: ...


class NioServerCnxn:
    """One connection of the embedded server. The ServerCnxnFactory owns it. Next hop:
    ServerCnxnFactory.on_request.
    """

    def __init__(
        self, wire: Wire, listener: Listener, open_cnxn: Callable[[str], int], now_ms: int
    ) -> None:
        self.wire = wire
        self.id = open_cnxn(wire.peer)
        self.opened_ms = now_ms
        self.connected = False
        """Whether the client's ConnectRequest has arrived."""
        self.welcomed = False
        """Whether the answer to the ConnectRequest was sent."""
        self.finishing_since_ms: int | None = None
        """The time (monotonic ms) when the factory first saw that this connection only sends its
        last bytes and then closes. None before that.
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
        """Send complete frames to the client. Each part is one frame."""
        self.sent += len(parts)
        self.wire.send(parts)
        if self.wire.unsent > MAX_UNSENT_BYTES:
            self._full = True
            self._flow()

    def wait(self, waits: bool) -> None:
        """Stop reading from the client if `waits`, or start again. The server stops while too many
        of its requests wait for an answer.
        """
        self._waits = waits
        self._flow()

    def finish(self) -> None:
        """Read no more requests, and close the connection when all answers are sent."""
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
