"""One client's connection (Kafka: KafkaChannel.java, ChannelMuteState).

A channel is muted from the moment a request is complete until its response has left: one request of a connection is in the broker at a time, and
so responses leave in the order of the requests, whatever the purgatory does. Requests that a client sends ahead wait here, as bytes already
received (at most one receive buffer of them), or in the kernel's socket buffer.
"""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka_edu.common.transport import Wire
from kafka_edu.network.memory_pool import MemoryPool
from kafka_edu.protocol.framing import FrameReceiver, InvalidReceive

if TYPE_CHECKING:
    from kafka_edu.network.processor import Processor
    from kafka_edu.network.request_channel import Request


class KafkaChannel:
    """Bytes of one wire to requests; the receiver of that wire. Owned by its processor."""

    __slots__ = (
        "_frames",
        "_receiver",
        "_reserved",
        "busy",
        "client_address",
        "client_id",
        "close_reason",
        "connection_id",
        "last_active_ms",
        "listener_name",
        "pool",
        "processor",
        "request",
        "unsent_before",
        "wire",
    )

    def __init__(
        self,
        wire: Wire,
        processor: "Processor",
        connection_id: str,
        listener_name: str,
        max_request_size: int,
        now_ms: int,
        pool: MemoryPool | None = None,
    ) -> None:
        """`pool` bounds the memory of requests, of all connections together; None: there is no bound."""
        self.wire = wire
        self.processor = processor
        self.connection_id = connection_id
        self.client_address = wire.peer.rpartition(":")[0]
        self.listener_name = listener_name
        self.client_id = ""
        self.busy = False
        """A request of this connection is being worked on: the channel is muted."""
        self.request: Request | None = None
        """The request in progress. The watchdog looks at it (`RequestWatchdog`)."""
        self.close_reason = ""
        self.last_active_ms = now_ms
        """When a frame was last begun or completed, or some of a response left. Bytes in the middle of a frame do not count, so that a client that sends
        one now and then must complete its frame within connections.max.idle.ms (Apache Kafka waits for ever)."""
        self.unsent_before = 0
        """Bytes of responses that had not left when the processor last looked for idle connections."""
        self._frames: deque[bytes] = deque()
        self.pool = pool
        self._reserved = False
        """The pool has given memory for a request that is not handed on yet."""
        self._receiver = FrameReceiver(max_request_size, self._allocate if pool is not None else None)

        wire.guard_sends(self._send_failed)

    def data_received(self, data: memoryview) -> None:
        """Take what has come. A bug that shows here costs this connection only."""
        try:
            self._hold_or_take(data)
        except Exception as error:
            self.processor.fail(self, "reading its requests", error)

    def _hold_or_take(self, data: memoryview) -> None:
        self.processor.bytes_in += len(data)
        held = self._receiver.held
        if held is not None:  # more came before the pause of reading was felt
            self._receiver.held = memoryview(bytes(held) + data)
            self.wire.pause_reading()
            return
        self._take(data)

    def _allocate(self, size: int) -> bool:
        """Return whether a request of `size` bytes may begin. A muted channel takes no memory: what its client sent ahead must not keep others waiting."""
        if self.pool is None or self.busy or self._reserved:
            return False
        self._reserved = self.pool.try_allocate(size)
        return self._reserved

    @property
    def waits_for_memory(self) -> bool:
        """A request has come that may not begin: queued.max.request.bytes are in the broker."""
        return self._receiver.held is not None

    def more_memory(self) -> None:
        """Go on with the request that could not begin: there is memory again, or the request before it is answered."""
        held, self._receiver.held = self._receiver.held, None
        if held is None:
            return  # closed meanwhile
        try:
            self._take(memoryview(held))
        except Exception as error:  # called for whoever gave the memory back
            self.processor.fail(self, "reading its requests", error)
            return
        if not self.busy and self._receiver.held is None:
            self.wire.resume_reading()

    def _take(self, data: memoryview) -> None:
        processor = self.processor
        begins = self._receiver.between_frames
        try:
            frames = self._receiver.feed(data)
        except InvalidReceive as error:
            self._release(error.frames)
            self.close(str(error))
            return
        if self._receiver.held is not None and self.pool is not None:
            self.wire.pause_reading()
            if not self.busy and not frames:
                self.pool.wait(self)
        if begins or frames:
            self.last_active_ms = processor.now_ms()
        if not frames:
            return
        if self.busy:
            self._frames.extend(frames)
            self.wire.pause_reading()
            return
        if len(frames) > 1:
            self._frames.extend(frames[1:])
        self._start(frames[0])

    def _start(self, frame: bytes) -> None:
        self.busy = True
        self._reserved = False
        if self._frames:
            self.wire.pause_reading()
        self.processor.on_frame(self, frame)

    def unmute(self) -> None:
        """The response has left: take the next request, already received or still to come."""
        self.busy = False
        self.request = None
        self.last_active_ms = self.processor.now_ms()
        if self._frames:
            self._start(self._frames.popleft())
        elif self._receiver.held is not None:
            self.more_memory()
        else:
            self.wire.resume_reading()

    def all_sent(self) -> None:
        try:
            self.processor.on_all_sent(self)
        except Exception as error:
            self.processor.fail(self, "taking its next request", error)

    def _send_failed(self, error: Exception) -> None:
        self.processor.fail(self, "sending its response", error)

    def close(self, reason: str) -> None:
        self.close_reason = self.close_reason or reason
        self.wire.close()

    def _release(self, frames: Iterable[bytes]) -> None:
        """Give back the memory of requests that are dropped."""
        if self.pool is not None:
            self.pool.release(sum(map(len, frames)))

    def connection_lost(self, reason: str) -> None:
        self._receiver.held = None
        self._release(self._frames)
        if self.pool is not None and self._receiver.begun:
            begun, self._receiver.begun = self._receiver.begun, 0
            self.pool.release(begun)
        self._frames.clear()
        self.request = None
        self.processor.on_closed(self, self.close_reason or reason)
