"""Exercise 08-1: answer Metadata from a copy. README.md describes the task. `kafka-edu lab check
08-1` tests your code. `kafka-edu lab hint 08-1` gives a hint.
"""

from collections.abc import Mapping, Sequence
from typing import Any


class Rewrite:
    """Makes the topics of a Metadata answer from the proxy's copy of a cluster's metadata."""

    def topics(
        self,
        names: Sequence[str] | None,
        version: int,
        topics: Mapping[str, Sequence[Any]],
        alive: Sequence[int],
    ) -> list[tuple[object, ...]]:
        """Return the topics of the answer, each as (error, name, internal, partitions)."""
        raise NotImplementedError("Rewrite.topics is not written yet: it returns a list of topics")
