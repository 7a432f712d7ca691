"""Exercise 08-1: the reference solution (Kafka: MetadataCache.getTopicMetadata)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE = 3, 5, 9
INVALID_TOPIC, LISTENER_NOT_FOUND = 17, 72
LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")
INTERNAL = ("__consumer_offsets", "__transaction_state")


class Rewrite:
    """Makes the topics of a proxy's answer from its copy of a cluster's metadata."""

    def topics(
        self,
        names: Sequence[str] | None,
        version: int,
        topics: Mapping[str, Sequence[Any]],
        alive: Sequence[int],
    ) -> list[tuple[object, ...]]:
        """Return (error, name, internal, partitions) of each topic of the answer."""
        asked = list(topics) if names is None else names
        return [self._topic(name, version, topics, alive) for name in asked]

    def _topic(
        self,
        name: str,
        version: int,
        topics: Mapping[str, Sequence[Any]],
        alive: Sequence[int],
    ) -> tuple[object, ...]:
        if name not in topics:
            legal = LEGAL.fullmatch(name) and name not in (".", "..")
            return (UNKNOWN_TOPIC if legal else INVALID_TOPIC, name, name in INTERNAL, [])
        error, internal, partitions = topics[name]
        return (error, name, internal, [self._partition(one, version, alive) for one in partitions])

    def _partition(self, one: Sequence[Any], version: int, alive: Sequence[int]) -> tuple[Any, ...]:
        error, index, leader, replicas, isr, offline = one
        if version < 6 and error == LISTENER_NOT_FOUND:
            error = LEADER_NOT_AVAILABLE
        if version == 0:
            living = [[each for each in some if each in alive] for some in (replicas, isr)]
            if error == 0 and living != [list(replicas), list(isr)]:
                error = REPLICA_NOT_AVAILABLE
            replicas, isr = living
        return (error, index, leader, replicas, isr, offline)
