"""Limits on the number of connections (Kafka: ConnectionQuotas in SocketServer.scala; KIP-402).

    max.connections.per.ip             connections from one address, over all listeners
    max.connections.per.ip.overrides   the same for single addresses
    max.connections                    connections of the broker
    listener.name.<x>.max.connections  the same for one listener

A connection above the limit of its address is closed at once. At the limit of the broker or of the
listener, the acceptors stop accepting, and further clients wait in the kernel's queue.

If there are several listeners, the listener between brokers is protected, so that many clients
cannot cut the brokers off from each other. This listener accepts connections above max.connections.
For each such connection, the broker closes a connection of another listener: the connection that
has been silent for the longest time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class ConnectionLimits(NamedTuple):
    """The values of the settings that this module's docstring lists."""

    max_connections: int
    max_per_ip: int
    per_ip_overrides: Mapping[str, int]
    """Client address → maximum number of connections from that address."""
    max_per_listener: Mapping[str, int]
    """Listener name → maximum number of its connections.

    A listener that is not in this table has the limit `max_connections`.
    """


class ConnectionQuotas:
    """Counts the broker's connections; the SocketServer owns it, and all listeners share it."""

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
        """Return whether this is the listener between brokers, and there are other listeners."""
        return listener == self._protected

    def slot_available(self, listener: str) -> bool:
        """Return whether this listener may accept another connection now. O(1)."""
        if self._listeners[listener] >= self.limits.max_per_listener.get(
            listener, self.limits.max_connections
        ):
            return False
        return self.is_protected(listener) or self.total < self.limits.max_connections

    def why_full(self, listener: str) -> str:
        """Return the limit that the listener has reached, as readable text."""
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
        """Count a new connection and return "", or return the reason to refuse it.

        A connection is refused if its address already has as many connections as allowed.
        """
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
        """Record that a connection of this listener from this address was closed."""
        self._addresses[address] -= 1
        if not self._addresses[address]:
            del self._addresses[address]
        self._listeners[listener] -= 1
        self.total -= 1

    @property
    def excess(self) -> int:
        """The number of connections above max.connections; 0 if there are none.

        The number is above 0 if the protected listener has accepted further connections, or if the
        limit was lowered.
        """
        return max(self.total - self.limits.max_connections, 0)
