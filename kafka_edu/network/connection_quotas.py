"""How many connections a broker takes (Kafka: ConnectionQuotas in SocketServer.scala; KIP-402).

    max.connections.per.ip             connections from one address, all listeners together; one too
    many is closed at once
    max.connections.per.ip.overrides   the same for single addresses
    max.connections                    connections of the broker; when it is reached, acceptors stop
    accepting, and clients wait in the kernel's queue
    listener.name.<x>.max.connections  the same for one listener

With several listeners, the one between brokers is protected: clients must not keep brokers from
each other. It takes connections above max.connections, and for each of them the connection of
another listener that was silent for longest is closed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class ConnectionLimits(NamedTuple):
    """The settings above, without defaults."""

    max_connections: int
    max_per_ip: int
    per_ip_overrides: Mapping[str, int]
    """Address -> limit."""
    max_per_listener: Mapping[str, int]
    """Listener -> limit; a listener that is not here has `max_connections`."""


class ConnectionQuotas:
    """Counts connections. Owned by the SocketServer; all its listeners share it."""

    def __init__(
        self,
        limits: ConnectionLimits,
        listeners: Iterable[str],
        inter_broker_listener: str | None = None,
    ) -> None:
        self.limits = limits
        self._listeners = Counter(dict.fromkeys(listeners, 0))
        self._addresses: Counter[str] = Counter()
        self._protected = inter_broker_listener if len(self._listeners) > 1 else None
        self.total = 0

    def is_protected(self, listener: str) -> bool:
        """Return whether this is the listener between brokers, and there are others."""
        return listener == self._protected

    def slot_available(self, listener: str) -> bool:
        """Return whether this listener may accept a connection now. O(1)."""
        if self._listeners[listener] >= self.limits.max_per_listener.get(
            listener, self.limits.max_connections
        ):
            return False
        return self.is_protected(listener) or self.total < self.limits.max_connections

    def why_full(self, listener: str) -> str:
        """Return the limit that a listener without a free slot has reached."""
        own = self.limits.max_per_listener.get(listener, self.limits.max_connections)
        if self._listeners[listener] >= own:
            return (
                f"{self._listeners[listener]} connections of this listener, of {own}"
                " (max.connections)"
            )
        return (
            f"{self.total} connections of the broker, of {self.limits.max_connections}"
            " (max.connections)"
        )

    def take(self, listener: str, address: str) -> str:
        """Count a connection and return ""; or return why this address may not have another one."""
        most = self.limits.per_ip_overrides.get(address, self.limits.max_per_ip)
        if (count := self._addresses[address]) >= most:
            key = "max.connections.per.ip" + (
                ".overrides" if address in self.limits.per_ip_overrides else ""
            )
            return f"{count} connections from {address} ({key})"
        self._addresses[address] += 1
        self._listeners[listener] += 1
        self.total += 1
        return ""

    def release(self, listener: str, address: str) -> None:
        """A connection is gone."""
        self._addresses[address] -= 1
        if not self._addresses[address]:
            del self._addresses[address]
        self._listeners[listener] -= 1
        self.total -= 1

    @property
    def excess(self) -> int:
        """Connections above max.connections: the protected listener took them, or the limit was
        lowered.
        """
        return max(self.total - self.limits.max_connections, 0)
