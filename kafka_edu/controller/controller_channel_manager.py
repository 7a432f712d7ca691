"""The controller's channels: for each broker one connection, one queue and one task.

(Kafka: ControllerChannelManager.scala, RequestSendThread.) A broker gets its requests one at a
time, in the order of the controller's decisions. A request is sent when the response to the request
before it has arrived. If a broker does not answer, its task tries again every 100 ms, until the
broker's znode is gone and `remove_broker` ends the channel. So a living broker gets every decision,
and a dead broker does not delay the requests to other brokers. The controller itself never waits
for a channel: a response becomes an event in the controller's queue.

This module has only the tasks and connections. ControllerBrokersRequestBatch decides what is sent,
and `controller_responses` decides what a response means.

Next, in the broker that receives LeaderAndIsr: `ControllerOrders.become_leader_or_follower`
(kafka_edu/replication/controller_orders.py).
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Transport
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from kafka_edu.protocol.messages.stop_replica import StopReplicaResponse
from kafka_edu.protocol.messages.update_metadata import UpdateMetadataResponse
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.trace.events.controller import (
    ControllerRequestFailed,
    ControllerRequestSent,
    ControllerResponseReceived,
)
from kafka_edu.trace.tracer import Tracer

RETRY_BACKOFF_MS: Final = 100

OnResponse = Callable[[int, Message, Message], None]
"""The function that is called with each response: (broker id, request, response) → None."""


class ControllerChannels(Protocol):
    """The interface of the channels. Tests use an implementation that only records the requests."""

    def add_broker(self, broker: Broker) -> None: ...

    def remove_broker(self, broker_id: int) -> None: ...

    def update_broker(self, broker: Broker) -> None: ...

    def send_request(
        self, broker_id: int, request: Message, api_version: int, partitions: int
    ) -> None: ...

    @property
    def queued(self) -> int:
        """The number of requests to all brokers that have no response yet."""
        ...

    async def shutdown(self) -> None: ...


class QueuedRequest(NamedTuple):
    request: Message
    api_version: int
    partitions: int
    cause: int

    @property
    def api_key(self) -> int:
        return -1 if self.request.KEY is None else int(self.request.KEY)


class ControllerChannelManager:
    """The controller's channels, from its election until it resigns."""

    def __init__(
        self,
        controller_id: int,
        listener_name: str,
        transport: Transport,
        time: Time,
        on_response: OnResponse,
        trace: Tracer | None,
        cause: Callable[[], int],
        socket_timeout_ms: float,
    ) -> None:
        """Create the manager without any channels.

        `cause` returns the trace number of the event that the controller is processing. The trace
        shows each queued request as an effect of that event. `socket_timeout_ms` is
        controller.socket.timeout.ms.
        """
        self._cause = cause
        self._client_id = f"controller-{controller_id}"
        self._listener_name = listener_name
        self._transport = transport
        self._time = time
        self._on_response = on_response
        self._trace = trace
        self._socket_timeout_ms = socket_timeout_ms
        self._channels: dict[int, RequestSendTask] = {}
        self._ended: list[asyncio.Task[None]] = []

    def add_broker(self, broker: Broker) -> None:
        """Start a task that sends requests to the broker; it connects at the first request.

        A broker without the controller's listener cannot be reached, and gets no channel.
        """
        end_point = broker.end_point(self._listener_name)
        if broker.id in self._channels or end_point is None:
            return
        client = NetworkClient(self._transport, self._client_id)
        channel = RequestSendTask(
            broker.id,
            end_point,
            client,
            self._time,
            self._on_response,
            self._trace,
            self._socket_timeout_ms,
        )
        self._channels[broker.id] = channel

    def remove_broker(self, broker_id: int) -> None:
        """Close the channel of a broker and drop its queued requests."""
        channel = self._channels.pop(broker_id, None)
        if channel is not None:
            self._ended = [task for task in self._ended if not task.done()]
            self._ended.append(channel.stop())

    def update_broker(self, broker: Broker) -> None:
        """Move the channel to the broker's new address; its queued requests are kept."""
        end_point, channel = broker.end_point(self._listener_name), self._channels.get(broker.id)
        if channel is None:
            self.add_broker(broker)
        elif end_point is None:
            self.remove_broker(broker.id)
        else:
            channel.move(end_point)

    def send_request(
        self, broker_id: int, request: Message, api_version: int, partitions: int
    ) -> None:
        """Queue one request to a broker; drop the request if the broker has no channel. O(1)."""
        if channel := self._channels.get(broker_id):
            channel.put(QueuedRequest(request, api_version, partitions, self._cause()))

    @property
    def queued(self) -> int:
        return sum(channel.queued for channel in self._channels.values())

    async def shutdown(self) -> None:
        for broker_id in list(self._channels):
            self.remove_broker(broker_id)
        await asyncio.gather(*self._ended, return_exceptions=True)
        self._ended.clear()


class RequestSendTask:
    """One broker's queue, and the task that sends its requests (Kafka: RequestSendThread)."""

    def __init__(
        self,
        broker_id: int,
        end_point: EndPoint,
        client: NetworkClient,
        time: Time,
        on_response: OnResponse,
        trace: Tracer | None,
        socket_timeout_ms: float,
    ) -> None:
        self._broker_id = broker_id
        self._end_point = end_point
        self._client = client
        self._time = time
        self._on_response = on_response
        self._trace = trace
        self._socket_timeout_ms = socket_timeout_ms
        self._queue: deque[QueuedRequest] = (
            deque()
        )  # unbounded, as in Kafka; it is dropped when the broker's session ends
        self._filled = asyncio.Event()
        self._correlation_id = 0
        self._task = asyncio.create_task(self._run(), name=f"controller-to-broker-{broker_id}")

    @property
    def queued(self) -> int:
        return len(self._queue)

    def put(self, queued: QueuedRequest) -> None:
        self._queue.append(queued)
        self._filled.set()

    def move(self, end_point: EndPoint) -> None:
        """Connect to a new address. A request that has no response yet is sent again there."""
        if end_point != self._end_point:
            self._end_point = end_point
            self._client.close()

    def stop(self) -> asyncio.Task[None]:
        self._client.close()
        self._task.cancel()
        return self._task

    async def _run(self) -> None:
        while True:
            await self._filled.wait()
            while self._queue:
                queued = self._queue[0]
                response = await self._send_until_answered(queued)
                self._queue.popleft()
                self._on_response(self._broker_id, queued.request, response)
            self._filled.clear()

    async def _send_until_answered(self, queued: QueuedRequest) -> Message:
        while True:
            try:
                if not self._client.connected:
                    await self._client.connect(
                        self._end_point.host, self._end_point.port, self._socket_timeout_ms
                    )
                return await self._send(queued)
            except (
                OSError,
                ProtocolError,
            ) as error:  # ConnectionError and TimeoutError are subclasses of OSError
                self._client.close()
                if self._trace:
                    with self._trace.because(queued.cause):
                        self._trace(
                            ControllerRequestFailed(
                                broker_id=self._broker_id,
                                api_key=queued.api_key,
                                reason=str(error) or type(error).__name__,
                            )
                        )
            await self._time.sleep(RETRY_BACKOFF_MS)

    async def _send(self, queued: QueuedRequest) -> Message:
        started_ns = self._time.nanoseconds()
        cause, local, correlation_id, api_key = (
            0,
            self._client.local,
            self._correlation_id,
            queued.api_key,
        )
        self._correlation_id += 1  # the client also counts its requests from 0
        if self._trace:
            with self._trace.because(queued.cause):
                cause = self._trace(
                    ControllerRequestSent(
                        broker_id=self._broker_id,
                        api_key=api_key,
                        api_version=queued.api_version,
                        correlation_id=correlation_id,
                        local=local,
                        partitions=queued.partitions,
                        queue_size=len(self._queue),
                    )
                )
        response = await self._client.send(
            queued.request, queued.api_version, self._socket_timeout_ms
        )
        if self._trace:
            with self._trace.because(cause):
                took_us = (self._time.nanoseconds() - started_ns) // 1000
                error_code = error_code_of(response)
                self._trace(
                    ControllerResponseReceived(
                        broker_id=self._broker_id,
                        api_key=api_key,
                        correlation_id=correlation_id,
                        local=local,
                        error_code=error_code,
                        took_us=took_us,
                    )
                )
        return response


def error_code_of(response: Message) -> int:
    """Return the error code of the whole response; 0 if the response has no such field."""
    match response:
        case LeaderAndIsrResponse() | UpdateMetadataResponse() | StopReplicaResponse():
            return response.error_code
    return 0
