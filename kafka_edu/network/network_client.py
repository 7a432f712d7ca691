"""The client side of one connection to a broker.

(Kafka: NetworkClient.java, InFlightRequests.java; book 000 §6.1.) A client may send several
requests before the first response comes. The broker responds to them in order. So the requests in
flight form a queue, and the correlation id is only a check. If a response does not come in time,
the connection is closed, because later responses could not be matched to their requests.
"""

import asyncio
from collections import deque
from typing import Final, NamedTuple, TypeVar

from kafka_edu.common.transport import Transport, Wire
from kafka_edu.protocol.framing import FrameReceiver, InvalidReceive
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError

MAX_RESPONSE_BYTES: Final = 1 << 30

R = TypeVar("R", bound=Message)


class _InFlight(NamedTuple):
    correlation_id: int
    api_key: int
    api_version: int
    answer: asyncio.Future[Message]
    deadline: float
    """The time, in seconds of the event loop's clock, when the request fails with TimeoutError."""


class NetworkClient:
    """Sends requests on one connection and returns their responses.

    One event loop owns it, and every task of that loop may send.
    """

    def __init__(self, transport: Transport, client_id: str) -> None:
        self._transport = transport
        self._client_id = client_id
        self._wire: Wire | None = None
        self._receiver = FrameReceiver(MAX_RESPONSE_BYTES)
        self._in_flight: deque[_InFlight] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        """A timer that fires at the earliest deadline in flight, or before it.

        When a response comes, the timer is not moved to a later deadline.
        """
        self._next_correlation_id = 0

    @property
    def connected(self) -> bool:
        return self._wire is not None

    @property
    def local(self) -> str:
        """The `host:port` of this side of the connection; empty when not connected.

        The connection's name in the broker's events contains it.
        """
        return self._wire.local if self._wire else ""

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    async def connect(self, host: str, port: int, timeout_ms: float) -> None:
        """Close the old connection, if any, and open a new one. Raises OSError or TimeoutError."""
        self.close()
        self._receiver = FrameReceiver(MAX_RESPONSE_BYTES)
        self._wire = await self._transport.connect(
            host, port, lambda wire: _Answers(self, wire), timeout_ms
        )

    async def send(self, request: Message, api_version: int, timeout_ms: float) -> Message:
        """Send a request, wait for its response and return it.

        Raises ConnectionError if there is no connection, or if the connection is lost. Raises
        TimeoutError after `timeout_ms`, and ProtocolError if the response cannot be read. After a
        TimeoutError or a ProtocolError the connection is closed. Each request in flight needs one
        future.
        """
        if request.KEY is None:
            raise ValueError(f"{type(request).__name__} is not a request")
        if self._wire is None:
            raise ConnectionError("not connected")
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Message] = loop.create_future()
        deadline = loop.time() + timeout_ms / 1000
        self._in_flight.append(
            _InFlight(correlation_id, request.KEY, api_version, answer, deadline)
        )
        self._wire.send(encode_request(request, api_version, correlation_id, self._client_id))
        if self._alarm is None or deadline < self._alarm.when():
            self._set_alarm(loop, deadline)
        try:
            return await answer
        finally:
            # `answer` may hold an error whose traceback refers to this frame, which refers to
            # `answer`. `del` breaks this reference cycle, so that the memory is freed at once.
            del answer

    def _set_alarm(self, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = loop.call_at(deadline, self._look_at_deadlines, loop, deadline)

    def _look_at_deadlines(self, loop: asyncio.AbstractEventLoop, now: float) -> None:
        """Make each request whose time-out is over fail with TimeoutError, and close the
        connection.

        O(in flight). `now` is the time for which the timer was set, because the clock may show a
        little less.
        """
        self._alarm = None
        late = [waiting for waiting in self._in_flight if waiting.deadline <= now]
        for waiting in late:
            if not waiting.answer.done():
                waiting.answer.set_exception(TimeoutError("no answer in time"))
        if late:
            self.close()
        elif self._in_flight:
            self._set_alarm(loop, min(waiting.deadline for waiting in self._in_flight))

    async def ask(
        self, request: Message, api_version: int, response_type: type[R], timeout_ms: float
    ) -> R:
        """Send a request and return its response. Raise TypeError unless it is a
        `response_type`.
        """
        response = await self.send(request, api_version, timeout_ms)
        if not isinstance(response, response_type):
            raise TypeError(
                f"{type(request).__name__} is answered by {type(response).__name__}, not by"
                f" {response_type.__name__}"
            )
        return response

    def close(self) -> None:
        """Close the connection. Requests in flight fail with ConnectionError."""
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()
        self._fail("the connection was closed")

    def _fail(self, reason: str) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        in_flight, self._in_flight = self._in_flight, deque()
        for waiting in in_flight:
            if not waiting.answer.done():
                waiting.answer.set_exception(ConnectionError(reason))

    def _on_data(self, wire: Wire, data: memoryview) -> None:
        if wire is not self._wire:
            return
        try:
            for frame in self._receiver.feed(data):
                self._on_response(frame)
        except (InvalidReceive, ProtocolError):
            self.close()

    def _on_response(self, frame: bytes) -> None:
        if not self._in_flight:
            raise ProtocolError("a response without a request")
        waiting = self._in_flight.popleft()
        try:
            correlation_id, response = decode_response(waiting.api_key, waiting.api_version, frame)
            if correlation_id != waiting.correlation_id:
                raise ProtocolError(
                    f"response {correlation_id} where {waiting.correlation_id} is due"
                )
        except ProtocolError as error:
            if not waiting.answer.done():
                waiting.answer.set_exception(error)
            raise
        if not waiting.answer.done():
            waiting.answer.set_result(response)

    def _on_lost(self, wire: Wire, reason: str) -> None:
        if wire is self._wire:
            self._wire = None
            self._fail(reason)


class _Answers:
    """The receiver of one wire, which passes its bytes to the client.

    If the client has a different wire by now, the bytes of this wire are ignored.
    """

    def __init__(self, client: NetworkClient, wire: Wire) -> None:
        self._client = client
        self._wire = wire

    def data_received(self, data: memoryview) -> None:
        self._client._on_data(self._wire, data)

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None:
        self._client._on_lost(self._wire, reason)
