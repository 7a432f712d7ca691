"""Exercise 08-2: which cluster does a client belong to? README.md describes the task.
`kafka-edu lab check 08-2` tests your code. `kafka-edu lab hint 08-2` gives a hint.
"""

from collections.abc import Sequence
from typing import Any


class Routes:
    """The rules by which a proxy chooses a cluster for each client."""

    def __init__(self, rules: Sequence[Sequence[Any]]) -> None:
        self.rules = rules

    def clusters_for(self, client_id: str, topic: str | None) -> list[str]:
        """Return the clusters of the first rule that matches this client and topic."""
        raise NotImplementedError("Routes.clusters_for is not written yet: it returns clusters")

    def choose(
        self, client_id: str, address: str, topic: str | None, serving: Sequence[str]
    ) -> str | None:
        """Return the cluster for this client, or None if none of its clusters is serving."""
        raise NotImplementedError("Routes.choose is not written yet: it returns a cluster or None")
