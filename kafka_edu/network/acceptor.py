"""The acceptor takes connections and deals them out to processors, one after the other (Kafka: Acceptor in SocketServer.scala)."""

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.common.transport import Listener, Transport, Wire, WireReceiver
from kafka_edu.network.channel import KafkaChannel
from kafka_edu.network.processor import Processor
from kafka_edu.trace.events.network import ConnectionRefused
from kafka_edu.trace.tracer import Tracer


class _Refused:
    """The receiver of a wire that is closed at once."""

    def data_received(self, data: memoryview) -> None: ...

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None: ...


class Acceptor:
    """One listener's open door and its processors. Next hop: Processor."""

    def __init__(self, end_point: EndPoint, processors: list[Processor], trace: Tracer | None, max_connections_per_ip: int) -> None:
        self.end_point = end_point
        self.processors = processors
        self._trace = trace
        self._max_connections_per_ip = max_connections_per_ip
        self._connections_by_ip: dict[str, int] = {}
        self._next = 0
        self._listener: Listener | None = None
        self._accepting = False

    @property
    def port(self) -> int:
        """The port that is listened on; known once `bind` has returned."""
        if self._listener is None:
            raise RuntimeError("not bound yet")
        return self._listener.port

    async def bind(self, transport: Transport) -> None:
        """Take the port; connections wait in the kernel until `start`. Raises OSError when the port is taken."""
        self._listener = await transport.listen(self.end_point.host, self.end_point.port, self._on_wire)
        self._listener.pause_accepting()

    def start(self) -> None:
        if self._listener is None:
            raise RuntimeError("bind before start")
        for processor in self.processors:
            processor.start()
        self._listener.resume_accepting()

    def _on_wire(self, wire: Wire) -> WireReceiver:
        address = wire.peer.rpartition(":")[0]
        count = self._connections_by_ip.get(address, 0)
        if count >= self._max_connections_per_ip:
            if self._trace:
                reason = f"{count} connections from {address} (max.connections.per.ip)"
                self._trace(ConnectionRefused(self.end_point.listener_name, wire.peer, reason))
            wire.close()
            return _Refused()
        self._connections_by_ip[address] = count + 1
        processor = self.processors[self._next % len(self.processors)]
        self._next += 1
        return processor.accept(wire)

    def limit_connections_per_ip(self, most: int) -> None:
        """From now on; connections that stand go on."""
        self._max_connections_per_ip = most

    def on_gone(self, channel: KafkaChannel) -> None:
        """One connection fewer from its address."""
        left = self._connections_by_ip[channel.client_address] - 1
        if left:
            self._connections_by_ip[channel.client_address] = left
        else:
            del self._connections_by_ip[channel.client_address]

    def stop_accepting(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def close(self) -> None:
        self.stop_accepting()
        for processor in self.processors:
            processor.close()
