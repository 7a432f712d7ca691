"""Wrap a connection in another object, which can delay or lose its data to simulate faults.

The wrapping object stands between a connection and the code that uses the connection. That code
sees the object as its `Wire`, and the connection sees the object as its `WireReceiver`.
"""

from collections.abc import Callable, Sequence

from kafka_edu.common.transport import Part, Wire, WireReceiver


class WireAround:
    """Passes on each call in both directions. A subclass overrides the calls that it changes.

    `__init__` calls `on_wire` as its last step, and the new receiver may use this wire at once. So
    a subclass must set its own fields before it calls this `__init__`.
    """

    def __init__(self, wire: Wire, on_wire: Callable[[Wire], WireReceiver]) -> None:
        self._wire = wire
        self._receiver = on_wire(self)

    @property
    def peer(self) -> str:
        return self._wire.peer

    @property
    def local(self) -> str:
        return self._wire.local

    @property
    def unsent(self) -> int:
        return self._wire.unsent

    @property
    def unread(self) -> int:
        return self._wire.unread

    def send(self, parts: Sequence[Part]) -> None:
        self._wire.send(parts)

    def guard_sends(self, on_failure: Callable[[Exception], None]) -> None:
        self._wire.guard_sends(on_failure)

    def pause_reading(self) -> None:
        self._wire.pause_reading()

    def resume_reading(self) -> None:
        self._wire.resume_reading()

    def close(self) -> None:
        self._wire.close()

    def data_received(self, data: memoryview) -> None:
        self._receiver.data_received(data)

    def all_sent(self) -> None:
        self._receiver.all_sent()

    def connection_lost(self, reason: str) -> None:
        self._receiver.connection_lost(reason)
