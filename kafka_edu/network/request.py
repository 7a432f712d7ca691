"""A request and its path through the broker (Kafka: RequestChannel.Request; book 001)."""

from collections.abc import Callable
from typing import Protocol

from kafka_edu.common.transport import Part
from kafka_edu.protocol.headers import RequestHeader


class Connection(Protocol):
    """The interface of a request's connection (`KafkaChannel`), for the request and its queue."""

    @property
    def connection_id(self) -> str: ...
    @property
    def client_address(self) -> str: ...
    @property
    def listener_name(self) -> str: ...
    @property
    def max_pipelined_requests(self) -> int: ...

    def enqueue_response(
        self, request: "Request", parts: list[Part] | None, /
    ) -> Callable[[], None] | None:
        """Queue a response; None means that no response is sent.

        Returns the function that wakes the connection's processor, or None if the processor need
        not be woken.
        """
        ...

    def start_next(self) -> None:
        """Start each received request that may start now."""
        ...

    def release(self, size: int, /) -> None:
        """Give `size` bytes of a request's memory back to the pool."""
        ...

    def refuse(self, rule: str, came: str, /) -> None:
        """Close the connection because of its input `came`, which breaks `rule`."""
        ...

    def close(self, reason: str, /) -> None: ...


class Request:
    """One request on its way through the broker. Each hop records its time, in monotonic ns."""

    __slots__ = (
        "body_offset",
        "cause",
        "channel",
        "client_address",
        "connection_id",
        "dequeued_ns",
        "frame",
        "header",
        "listener_name",
        "local_done_ns",
        "may_be_followed",
        "memory",
        "response_ns",
        "response_parts",
        "response_sent_from_ns",
        "start_ns",
        "throttle_ns",
        "timeout_ms",
    )

    def __init__(
        self,
        channel: Connection,
        header: RequestHeader,
        frame: bytes,
        body_offset: int,
        start_ns: int,
    ) -> None:
        self.channel = channel
        self.header = header
        self.frame = frame
        """The bytes of the whole request without its size prefix; its body is at `body_offset`."""
        self.body_offset = body_offset
        self.connection_id = channel.connection_id
        self.client_address = channel.client_address
        self.listener_name = channel.listener_name
        self.start_ns = start_ns
        self.cause = 0
        """The trace number of the event that causes the next hop; 0 if none was emitted.

        At first that is the event RequestReceived, later the event that completed the response.
        """
        self.dequeued_ns = 0
        self.local_done_ns = 0
        """The time when the handler left the request to a purgatory.

        0 if the response was ready at once.
        """
        self.may_be_followed = False
        """Whether the connection's next produce may start before this request is answered.

        It depends on `edu.max.pipelined.requests`.
        """
        self.response_parts: list[Part] | None = None
        """The parts of the response while it waits until earlier responses have left; else None."""
        self.response_ns = 0
        self.response_sent_from_ns = 0
        self.throttle_ns = 0
        """The time in ns for which a quota mutes the connection after the response (KIP-219).

        It is always 0, because this broker has no quotas yet.
        """
        self.timeout_ms: int | None = None
        """The client's time-out for this request, in ms.

        None until the watchdog looks it up, when the request is a second old.
        """
        self.memory = 0
        """The bytes that the request takes from the pool (queued.max.request.bytes).

        0 if there is no pool.
        """

    def release_memory(self) -> None:
        """Give the request's memory back to the pool, because its handler has finished."""
        if self.memory:
            memory, self.memory = self.memory, 0
            self.channel.release(memory)
