"""Exercise 08-2: the reference solution (rendezvous hashing, Thaler and Ravishankar 1998)."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import Any


class Routes:
    """The rules by which a proxy chooses a cluster for each client."""

    def __init__(self, rules: Sequence[Sequence[Any]]) -> None:
        self.rules = rules

    def clusters_for(self, client_id: str, topic: str | None) -> list[str]:
        """Return the clusters of the first rule that matches the client and the topic."""
        for client_pattern, topic_pattern, clusters in self.rules:
            if not fnmatchcase(client_id, client_pattern):
                continue
            if topic_pattern is None:
                return list(clusters)
            if topic is not None and fnmatchcase(topic, topic_pattern):
                return list(clusters)
        return []

    def choose(
        self, client_id: str, address: str, topic: str | None, serving: Sequence[str]
    ) -> str | None:
        """Return the cluster for this client, or None if no cluster of its rule serves."""
        living = [one for one in self.clusters_for(client_id, topic) if one in serving]
        return max(living, key=lambda one: weight(client_id, address, one), default=None)


def weight(client_id: str, address: str, cluster: str) -> bytes:
    """Return a hash of a client and a cluster. The client gets the cluster of the highest hash."""
    text = "\0".join((client_id, address, cluster))
    return blake2b(text.encode(), digest_size=8).digest()
