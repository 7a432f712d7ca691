"""One client's connection (Kafka: KafkaChannel.java, ChannelMuteState).

A channel is muted from the moment a request is complete until its response has left: one request of a connection is in the broker at a time, and
so responses leave in the order of the requests, whatever the purgatory does. Requests that a client sends ahead wait here, as bytes already
received (at most one receive buffer of them), or in the kernel's socket buffer.
"""

from collections import deque
from typing import TYPE_CHECKING

from kafka_edu.common.transport import Wire
from kafka_edu.protocol.framing import FrameReceiver, InvalidReceive

if TYPE_CHECKING:
    from kafka_edu.network.processor import Processor


class KafkaChannel:
    """Bytes of one wire to requests; the receiver of that wire. Owned by its processor."""

    __slots__ = (
        "_frames",
        "_receiver",
        "busy",
        "client_address",
        "client_id",
        "close_reason",
        "connection_id",
        "last_active_ms",
        "listener_name",
        "processor",
        "unsent_before",
        "wire",
    )

    def __init__(self, wire: Wire, processor: "Processor", connection_id: str, listener_name: str, max_request_size: int, now_ms: int) -> None:
        self.wire = wire
        self.processor = processor
        self.connection_id = connection_id
        self.client_address = wire.peer.rpartition(":")[0]
        self.listener_name = listener_name
        self.client_id = ""
        self.busy = False
        """A request of this connection is being worked on: the channel is muted."""
        self.close_reason = ""
        self.last_active_ms = now_ms
        """When a frame was last begun or completed, or some of a response left. Bytes in the middle of a frame do not count, so that a client that sends
        one now and then must complete its frame within connections.max.idle.ms (Apache Kafka waits for ever)."""
        self.unsent_before = 0
        """Bytes of responses that had not left when the processor last looked for idle connections."""
        self._frames: deque[bytes] = deque()
        self._receiver = FrameReceiver(max_request_size)

    def data_received(self, data: memoryview) -> None:
        processor = self.processor
        processor.bytes_in += len(data)
        begins = self._receiver.between_frames
        try:
            frames = self._receiver.feed(data)
        except InvalidReceive as error:
            self.close(str(error))
            return
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
        if self._frames:
            self.wire.pause_reading()
        self.processor.on_frame(self, frame)

    def unmute(self) -> None:
        """The response has left: take the next request, already received or still to come."""
        self.busy = False
        self.last_active_ms = self.processor.now_ms()
        if self._frames:
            self._start(self._frames.popleft())
        else:
            self.wire.resume_reading()

    def all_sent(self) -> None:
        self.processor.on_all_sent(self)

    def close(self, reason: str) -> None:
        self.close_reason = self.close_reason or reason
        self.wire.close()

    def connection_lost(self, reason: str) -> None:
        self._frames.clear()
        self.processor.on_closed(self, self.close_reason or reason)
