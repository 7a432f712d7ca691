"""The socket server: all listeners of one broker (Kafka: SocketServer.scala; spec N1).

    acceptor (one for each listener) → processors (num.network.threads for each listener)
    → request channel → handlers (num.io.threads) → processors

The listener of control.plane.listener.name is separate. This listener has its own acceptor,
processor, request channel (of 20 requests) and handler. So the controller's requests never wait for
clients' requests (KIP-291; book 001; spec C10).

`bind` opens the ports, so that the broker knows their numbers. `start_processing` begins to accept
connections. It must be called when the other parts of the broker are ready.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.common.tasks import OnFailure
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Transport
from kafka_edu.network.acceptor import Acceptor
from kafka_edu.network.channel import KafkaChannel
from kafka_edu.network.connection_quotas import ConnectionLimits, ConnectionQuotas
from kafka_edu.network.frame_capture import FrameCapture
from kafka_edu.network.memory_pool import MemoryPool
from kafka_edu.network.processor import Processor, ProcessorSettings, SharedByProcessors
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.network.request_metrics import RequestMetrics
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.network import NetworkSampled
from kafka_edu.trace.tracer import Tracer

CONTROL_PLANE_QUEUED_REQUESTS: Final = 20
"""The capacity of the control plane's request queue; fixed, as in Kafka."""


class ControlPlane(NamedTuple):
    """The listener for the controller's requests, and the queue for them."""

    listener_name: str
    request_channel: RequestChannel


class NetworkConfig(NamedTuple):
    """The settings of the network layer. Times are in ms, sizes in bytes."""

    num_network_threads: int
    """The number of processors for each listener (num.network.threads)."""
    socket_request_max_bytes: int
    connections_max_idle_ms: int
    connection_limits: ConnectionLimits
    """The limits on the number of connections (max.connections and related keys)."""
    queued_max_requests: int
    """The capacity of the request queue (queued.max.requests)."""
    queued_max_request_bytes: int
    """The bound on the bytes of queued requests; -1: no bound (queued.max.request.bytes)."""
    max_pipelined_requests: int
    """The maximum number of a connection's requests in progress (edu.max.pipelined.requests)."""


class SocketServer:
    """Owns acceptors and processors; shares the request channels with the handlers."""

    def __init__(
        self,
        end_points: Sequence[EndPoint],
        transport: Transport,
        time: Time,
        request_channel: RequestChannel,
        trace: Tracer | None,
        config: NetworkConfig,
        *,
        inter_broker_listener: str | None,
        control_plane: ControlPlane | None = None,
        on_failure: OnFailure | None = None,
    ) -> None:
        """Create the acceptors and processors; `bind` opens the ports.

        If a bug ends a task, `on_failure` is called with the task's name. This function must stop
        the broker.
        """
        self._transport = transport
        self._time = time
        self._request_channel = request_channel
        self._trace = trace
        self._config = config
        self._processor_numbers = 0
        self._capture: FrameCapture | None = None
        self._open = False
        self.memory_pool = (
            MemoryPool(config.queued_max_request_bytes)
            if config.queued_max_request_bytes > 0
            else None
        )
        self._metrics = RequestMetrics(time)
        self._shared = SharedByProcessors(
            time, pool=self.memory_pool, on_failure=on_failure, metrics=self._metrics
        )
        self._quotas = ConnectionQuotas(
            config.connection_limits, [e.listener_name for e in end_points], inter_broker_listener
        )
        self.acceptors: dict[str, Acceptor] = {}
        for end_point in end_points:
            self.acceptors[end_point.listener_name] = Acceptor(
                end_point, [], trace, self._quotas, self._heed_limits
            )
        self._data_plane = dict(self.acceptors)
        if control_plane is not None:
            acceptor = self._data_plane.pop(control_plane.listener_name)
            acceptor.processors.append(self._new_processor(acceptor, control_plane.request_channel))
        self.resize_processors(config.num_network_threads)
        if trace:
            trace.on_gauges(self._gauges)
            trace.on_snapshot(self._snapshot)

    def resize_processors(self, num_network_threads: int) -> None:
        """Change the number of processors for each listener of the data plane.

        The connections of surplus processors are closed, and their clients connect again.
        """
        for acceptor in self._data_plane.values():
            while len(acceptor.processors) > num_network_threads:
                acceptor.processors.pop().close()
            while len(acceptor.processors) < num_network_threads:
                processor = self._new_processor(acceptor, self._request_channel)
                acceptor.processors.append(processor)
                if self._open:
                    processor.start()

    def _new_processor(self, acceptor: Acceptor, request_channel: RequestChannel) -> Processor:
        self._processor_numbers += 1
        processor = Processor(
            self._processor_numbers - 1,
            self._time,
            request_channel,
            self._shared,
            ProcessorSettings(
                acceptor.end_point.listener_name,
                self._config.socket_request_max_bytes,
                self._config.connections_max_idle_ms,
                self._config.max_pipelined_requests,
            ),
            self._trace,
            acceptor.on_gone,
        )
        processor.capture = self._capture
        return processor

    def set_capture(self, capture: FrameCapture | None) -> None:
        """Capture frames with `capture` from now on; with None, capture no more frames. The caller
        closes the old capture.
        """
        self._capture = capture
        for processor in self.processors:
            processor.capture = capture

    def limit_connections(self, limits: ConnectionLimits) -> None:
        """Change the limits on the number of connections.

        Connections above max.connections are closed. Connections above the limit of their address
        stay open.
        """
        self._quotas.limits = limits
        self._heed_limits()

    def _heed_limits(self) -> None:
        """Close surplus connections, and pause or resume each listener. O(listeners).

        Called when a connection was opened or closed, and when the limits have changed.
        """
        if self._quotas.excess:
            self._close_excess()
        for acceptor in self.acceptors.values():
            acceptor.heed_limits()

    def _close_excess(self) -> None:
        """Close the connections above max.connections.

        The connections that were silent for the longest time are closed, but no connection of the
        protected listener. Kafka closes only one connection at a time, but the result is the same
        in the end. O(connections), but only if there are too many.
        """
        channels = [
            channel for processor in self.processors for channel in processor.channels.values()
        ]
        closing = sum(1 for channel in channels if channel.close_reason)
        open_ = [
            c
            for c in channels
            if not c.close_reason and not self._quotas.is_protected(c.listener_name)
        ]
        open_.sort(key=lambda channel: channel.last_active_ms)
        for channel in open_[: max(self._quotas.excess - closing, 0)]:
            channel.close(
                "there are too many connections, and this one was silent for longest"
                " (max.connections)"
            )

    @property
    def processors(self) -> list[Processor]:
        return [
            processor for acceptor in self.acceptors.values() for processor in acceptor.processors
        ]

    def channels(self) -> Iterator[KafkaChannel]:
        """Yield all open connections of the broker."""
        for processor in self.processors:
            yield from processor.channels.values()

    async def bind(self) -> None:
        """Bind all ports. If one port cannot be bound, close all ports again and raise OSError."""
        try:
            for acceptor in self.acceptors.values():
                await acceptor.bind(self._transport)
        except OSError:
            for acceptor in self.acceptors.values():
                acceptor.stop_accepting()
            raise

    def bound_port(self, listener_name: str) -> int:
        """Return the listener's port number.

        The result is the configured number, or, if 0 was configured, the free port that was chosen.
        """
        return self.acceptors[listener_name].port

    @property
    def bound_ports(self) -> dict[str, int]:
        """Listener name → its port number."""
        return {name: acceptor.port for name, acceptor in self.acceptors.items()}

    def start_processing(self) -> None:
        self._open = True
        for acceptor in self.acceptors.values():
            acceptor.start()

    def stop_accepting(self) -> None:
        """Accept no new connections. Open connections stay open."""
        for acceptor in self.acceptors.values():
            acceptor.stop_accepting()

    def shutdown(self) -> None:
        """Close all listeners and all connections."""
        for acceptor in self.acceptors.values():
            acceptor.close()

    def _gauges(self) -> Iterable[Event]:
        processors = self.processors
        channel = self._request_channel
        yield NetworkSampled(
            request_queue_size=channel.queue_size,
            request_queue_capacity=channel.capacity,
            response_queue_size=sum(p.response_queue_size for p in processors),
            connections=sum(len(p.channels) for p in processors),
            requests_total=channel.requests_total,
            bytes_in_total=sum(p.bytes_in for p in processors),
            bytes_out_total=sum(p.bytes_out for p in processors),
            slow_left_out_total=self._trace.slow.left_out if self._trace else 0,
        )
        yield from self._metrics.gauges()

    def _snapshot(self) -> Iterable[Event]:
        yield from self._metrics.snapshot()
        for processor in self.processors:
            yield from processor.snapshot()
