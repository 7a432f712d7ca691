"""One client's connection (Kafka: KafkaChannel.java, ChannelMuteState).

A channel works on one request at a time, as in Kafka. It is muted from the moment when a request is
complete until its response has left. (Produce requests are an exception, see below.) So responses
leave in the order of the requests, even when a request waits in a purgatory. Further requests that
the client has sent wait in this object as received bytes, at most one receive buffer of them. All
bytes after these wait in the kernel's socket buffer.

The wire calls `data_received`. Next: `Processor.on_frame` (processor.py).

**Pipelined produce.** Working on one request at a time limits the throughput. A produce with
acks=all waits for the followers, and meanwhile the client's next produce is not even read. When
replication takes 50 ms, a connection gets 20 responses a second, no matter how many requests the
client sends. More and more requests wait, until the client gives up after its own time-out, for
example after 60 s (docs/answers.md has a measurement). But the protocol only requires that
responses come in the order of the requests. So if `edu.max.pipelined.requests` is above 1 (the
default is 64), the next produce is appended while the produce before it waits in the purgatory. The
response to the next produce is held until the earlier responses have left. This applies only to
produce requests with acks 1 or all. Any other request waits until the connection has no request in
progress.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from kafka_edu.common.transport import Part, Wire
from kafka_edu.network.memory_pool import SMALL_REQUEST_BYTES, MemoryPool
from kafka_edu.network.request import Request
from kafka_edu.protocol.framing import FrameReceiver, InvalidReceive
from kafka_edu.protocol.produce_peek import is_acknowledged_produce

#: The maximum number of bytes of pipelined requests that a connection may have in progress.
MAX_PIPELINED_BYTES: Final = 1 << 20


class ChannelOwner(Protocol):
    """The interface of a channel's owner (`Processor`). Each call names the channel."""

    bytes_in: int

    @property
    def max_pipelined_requests(self) -> int: ...
    def now_ms(self) -> int: ...
    def on_frame(self, channel: "KafkaChannel", frame: bytes, /) -> None: ...
    def on_all_sent(self, channel: "KafkaChannel", /) -> None: ...
    def on_closed(self, channel: "KafkaChannel", reason: str, /) -> None: ...
    def refuse(self, channel: "KafkaChannel", rule: str, came: str, /) -> None: ...
    def refuse_size(self, channel: "KafkaChannel", rule: str, size: bytes, /) -> None: ...
    def fail(self, channel: "KafkaChannel", doing: str, error: Exception, /) -> None: ...
    def enqueue_response(self, request: Request, parts: list[Part] | None, /) -> bool: ...
    def process_new_responses(self) -> None: ...


class KafkaChannel:
    """Turns the bytes of one client's connection into requests; its processor owns it."""

    __slots__ = (
        "_bytes_in_progress",
        "_frames",
        "_receiver",
        "_reserved",
        "client_address",
        "client_id",
        "close_reason",
        "connection_id",
        "in_progress",
        "last_active_ms",
        "listener_name",
        "pool",
        "processor",
        "unsent_before",
        "wire",
    )

    def __init__(
        self,
        wire: Wire,
        processor: ChannelOwner,
        connection_id: str,
        listener_name: str,
        max_request_size: int,
        now_ms: int,
        pool: MemoryPool | None = None,
    ) -> None:
        """Create the channel of a new connection.

        `pool` bounds the memory of all connections' requests together. None means no bound.
        """
        self.wire = wire
        self.processor = processor
        self.connection_id = connection_id
        self.client_address = wire.peer.rpartition(":")[0]
        self.listener_name = listener_name
        self.client_id = ""
        self.in_progress: deque[Request] = deque()
        """The requests whose responses have not left yet, oldest first.

        There is at most one, or several produce requests if they are pipelined.
        """
        self.close_reason = ""
        self.last_active_ms = now_ms
        """The last time when a frame began or was complete, or when a part of a response left.

        Monotonic, in ms. Bytes in the middle of a frame do not change it. So a client that sends
        single bytes slowly must still complete its frame within connections.max.idle.ms. Apache
        Kafka waits for ever.
        """
        self.unsent_before = 0
        """The number of unsent response bytes at the last check for idle connections."""
        self._bytes_in_progress = 0
        self._frames: deque[bytes] = deque()
        self.pool = pool
        self._reserved = False
        """Whether the pool has given memory for a large request that has not started yet."""
        self._receiver = FrameReceiver(
            max_request_size, self._allocate if pool is not None else None
        )
        wire.guard_sends(self._send_failed)

    def data_received(self, data: memoryview) -> None:
        """Process received bytes. An unexpected exception closes only this connection."""
        try:
            self._hold_or_take(data)
        except Exception as error:
            self.processor.fail(self, "reading its requests", error)

    def _hold_or_take(self, data: memoryview) -> None:
        self.processor.bytes_in += len(data)
        held = self._receiver.held
        if held is not None:  # bytes arrived before the pause took effect
            self._receiver.held = memoryview(bytes(held) + data)
            self.wire.pause_reading()
            return
        self._take(data)

    def _allocate(self, size: int) -> bool:
        """Return whether a request of `size` bytes may begin to be read, and take its memory.

        A muted channel takes no memory for a large request, because that request must wait anyway,
        and other clients may need the memory now. A small request may take memory even then,
        because its bytes have mostly arrived already.
        """
        pool = self.pool
        if pool is None:
            return False
        if size < SMALL_REQUEST_BYTES:
            return pool.try_allocate(size)
        if self.is_muted or self._reserved:
            return False
        self._reserved = pool.try_allocate(size)
        return self._reserved

    @property
    def waits_for_memory(self) -> bool:
        """Whether the beginning of a request has arrived, but the request must wait for memory.

        The broker already holds queued.max.request.bytes of requests.
        """
        return self._receiver.held is not None

    def more_memory(self) -> None:
        """Try again to read the request that had to wait for memory.

        Called when there is memory again, or when the connection's previous request is answered.
        """
        held, self._receiver.held = self._receiver.held, None
        if held is None:
            return  # the connection was closed meanwhile
        try:
            self._take(memoryview(held))
        except Exception as error:  # must not reach the caller, which only released memory
            self.processor.fail(self, "reading its requests", error)
            return
        if not self.is_muted and self._receiver.held is None:
            self.wire.resume_reading()

    def _take(self, data: memoryview) -> None:
        processor = self.processor
        begins = self._receiver.between_frames
        try:
            frames = self._receiver.feed(data)
        except InvalidReceive as error:
            self._release(error.frames)
            processor.refuse_size(self, str(error), error.prefix)
            return
        held = self._receiver.held
        if held is not None and self.pool is not None:
            self.wire.pause_reading()
            if not self.is_muted and not frames:
                self.pool.wait(self, int.from_bytes(held[:4], "big"))
        if begins or frames:
            self.last_active_ms = processor.now_ms()
        if not frames:
            return
        if self.in_progress or len(frames) > 1:
            self._frames.extend(frames)
            self.start_next()
        else:
            self._start(frames[0])

    def _start(self, frame: bytes) -> None:
        if len(frame) >= SMALL_REQUEST_BYTES:
            self._reserved = False
        self._bytes_in_progress += len(frame)
        self.processor.on_frame(self, frame)

    @property
    def request(self) -> Request | None:
        """The oldest request in progress, or None; `RequestWatchdog` checks how old it is."""
        return self.in_progress[0] if self.in_progress else None

    @property
    def is_muted(self) -> bool:
        """Whether no further request, not even a produce, may start now."""
        waiting = self.in_progress
        return bool(waiting) and not (
            waiting[-1].may_be_followed and len(waiting) < self.processor.max_pipelined_requests
        )

    def start_next(self) -> None:
        """Start each received request that may start now.

        If no request must wait, continue to read from the wire.
        """
        while self._frames and self._may_start(self._frames[0]):
            self._start(self._frames.popleft())
        if self._frames:
            self.wire.pause_reading()
        elif self.is_muted:
            return
        elif self._receiver.held is not None:
            self.more_memory()
        else:
            self.wire.resume_reading()

    def _may_start(self, frame: bytes) -> bool:
        """Return whether the request in `frame` may start, given the requests in progress."""
        if not self.in_progress:
            return True
        return (
            not self.is_muted
            and is_acknowledged_produce(frame)
            and self._bytes_in_progress + len(frame) <= MAX_PIPELINED_BYTES
        )

    def unmute(self, answered: int = 1) -> None:
        """Remove the `answered` oldest requests, whose responses have left; start the next ones."""
        for _ in range(answered):
            self._bytes_in_progress -= len(self.in_progress.popleft().frame)
        self.last_active_ms = self.processor.now_ms()
        self.start_next()

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

    @property
    def max_pipelined_requests(self) -> int:
        return self.processor.max_pipelined_requests

    def enqueue_response(
        self, request: Request, parts: list[Part] | None
    ) -> Callable[[], None] | None:
        """Queue a response at the processor.

        Returns the function that wakes the processor if this is the first response in its queue;
        else None.
        """
        processor = self.processor
        if processor.enqueue_response(request, parts):
            return processor.process_new_responses
        return None

    def refuse(self, rule: str, came: str) -> None:
        """Close the connection because its input breaks `rule`; the log shows rule and input."""
        self.processor.refuse(self, rule, came)

    def release(self, size: int) -> None:
        """Give `size` bytes of memory back to the pool, if there is a pool."""
        if self.pool is not None:
            self.pool.release(size)

    def _release(self, frames: Iterable[bytes]) -> None:
        """Give the memory of dropped requests back to the pool."""
        for frame in frames:
            self.release(len(frame))

    def connection_lost(self, reason: str) -> None:
        self._release(self._frames)
        begun = self._receiver.drop()
        if begun:
            self.release(begun)
        self._frames.clear()
        self.in_progress.clear()
        self.processor.on_closed(self, self.close_reason or reason)
