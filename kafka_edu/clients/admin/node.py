"""A broker as the cluster's metadata describes it (Kafka: Node.java)."""

from typing import NamedTuple


class Node(NamedTuple):
    """The id and address of a broker in the cluster's metadata."""

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        """Return the broker as text in the format of Kafka's tools."""
        return (
            f"{self.host}:{self.port} (id: {self.id} rack:"
            f" {'null' if self.rack is None else self.rack})"
        )
