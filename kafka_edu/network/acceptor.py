"""The acceptor of a listener gives each new connection to the next processor in turn.

(Kafka: Acceptor in SocketServer.scala.)
"""

from collections.abc import Callable

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.common.transport import Listener, Transport, Wire, WireReceiver
from kafka_edu.network.channel import KafkaChannel
from kafka_edu.network.connection_quotas import ConnectionQuotas
from kafka_edu.network.processor import Processor
from kafka_edu.trace.events.network import AcceptingPaused, AcceptingResumed, ConnectionRefused
from kafka_edu.trace.tracer import Tracer


class _Refused:
    """The receiver for a refused connection; it ignores all bytes, because the wire is closed."""

    def data_received(self, data: memoryview) -> None: ...

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None: ...


class Acceptor:
    """Accepts one listener's connections and owns its processors. Next: `Processor.accept`."""

    def __init__(
        self,
        end_point: EndPoint,
        processors: list[Processor],
        trace: Tracer | None,
        quotas: ConnectionQuotas,
        on_change: Callable[[], None],
    ) -> None:
        """Create an acceptor that is not bound yet.

        `on_change` is called after a connection was opened or closed. It must check for each
        listener whether the listener must pause or may resume.
        """
        self.end_point = end_point
        self.processors = processors
        self._trace = trace
        self._quotas = quotas
        self._on_change = on_change
        self._next = 0
        self._listener: Listener | None = None
        self._open = False
        self._waits_for_slot = False

    @property
    def port(self) -> int:
        """The listener's port number. It is known once `bind` has returned."""
        if self._listener is None:
            raise RuntimeError("not bound yet")
        return self._listener.port

    async def bind(self, transport: Transport) -> None:
        """Bind the port; connections wait in the kernel until `start` is called.

        Raises OSError if the port is in use.
        """
        self._listener = await transport.listen(
            self.end_point.host, self.end_point.port, self._on_wire
        )
        self._listener.pause_accepting()

    def start(self) -> None:
        if self._listener is None:
            raise RuntimeError("bind before start")
        for processor in self.processors:
            processor.start()
        self._open = True
        self._listener.resume_accepting()
        self.heed_limits()

    def _on_wire(self, wire: Wire) -> WireReceiver:
        address = wire.peer.rpartition(":")[0]
        if reason := self._quotas.take(self.end_point.listener_name, address):
            if self._trace:
                self._trace(
                    ConnectionRefused(
                        listener=self.end_point.listener_name, peer=wire.peer, reason=reason
                    )
                )
            wire.close()
            return _Refused()
        processor = self.processors[self._next % len(self.processors)]
        self._next += 1
        channel = processor.accept(wire)
        self._on_change()
        return channel

    def heed_limits(self) -> None:
        """Accept connections while max.connections allows one more; otherwise pause.

        During a pause, new clients wait in the kernel's queue and cost this process no work.
        """
        if self._listener is None or not self._open:
            return
        name = self.end_point.listener_name
        full = not self._quotas.slot_available(name)
        if full and not self._waits_for_slot:
            self._waits_for_slot = True
            self._listener.pause_accepting()
            if self._trace:
                self._trace(AcceptingPaused(listener=name, reason=self._quotas.why_full(name)))
        elif not full and self._waits_for_slot:
            self._waits_for_slot = False
            if self._trace:
                self._trace(AcceptingResumed(listener=name))
            self._listener.resume_accepting()

    def on_gone(self, channel: KafkaChannel) -> None:
        """Count a closed connection, so that another connection may be accepted."""
        self._quotas.release(self.end_point.listener_name, channel.client_address)
        self._on_change()

    def stop_accepting(self) -> None:
        self._open = False
        if self._listener is not None:
            self._listener.close()

    def close(self) -> None:
        self.stop_accepting()
        for processor in self.processors:
            processor.close()
