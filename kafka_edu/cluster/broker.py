"""A broker as it is registered in ZooKeeper and told to clients (Kafka: Broker.scala,
EndPoint.scala).
"""

from typing import NamedTuple


class EndPoint(NamedTuple):
    """One listener, as in `PLAINTEXT://127.0.0.1:9092`; an IPv6 address stands in brackets there,
    and without them in `host`.
    """

    host: str
    port: int
    listener_name: str
    security_protocol: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener_name}://{host}:{self.port}"


class Broker(NamedTuple):
    """`epoch` is the czxid of its znode: a restarted broker has a higher one (KIP-380); -1 if
    unknown.
    """

    id: int
    end_points: tuple[EndPoint, ...]
    rack: str | None = None
    epoch: int = -1

    def end_point(self, listener_name: str) -> EndPoint | None:
        """Where this broker listens under that name, or None."""
        return next((e for e in self.end_points if e.listener_name == listener_name), None)
