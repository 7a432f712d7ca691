"""A broker as ZooKeeper and clients know it (Kafka: Broker.scala, EndPoint.scala)."""

from typing import NamedTuple


class EndPoint(NamedTuple):
    """The address of one listener, for example `PLAINTEXT://127.0.0.1:9092`.

    An IPv6 address has brackets in this text form, but not in `host`.
    """

    host: str
    port: int
    listener_name: str
    security_protocol: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener_name}://{host}:{self.port}"


class Broker(NamedTuple):
    """One broker of the cluster.

    `epoch` is the czxid of the broker's znode, or -1 if it is unknown. A broker that has restarted
    has a higher epoch than before (KIP-380).
    """

    id: int
    end_points: tuple[EndPoint, ...]
    rack: str | None = None
    epoch: int = -1

    def end_point(self, listener_name: str) -> EndPoint | None:
        """Return the address of the listener with this name, or None if there is none."""
        return next((e for e in self.end_points if e.listener_name == listener_name), None)
