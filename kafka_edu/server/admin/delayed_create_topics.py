"""CreateTopics and CreatePartitions requests that wait until their partitions have leaders (Kafka:
DelayedCreatePartitions.scala; spec D2).

A topic exists once its znode is written. But clients can use it only when the controller has
elected leaders and has updated the brokers. So the request waits in a purgatory, and its keys are
the names of its topics. Each UpdateMetadata request checks the waiting requests. A request is
complete when this broker's own metadata cache has a leader for each partition.
"""

from collections.abc import Callable, Hashable

from kafka_edu.cluster.leader_and_isr import NO_LEADER
from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.trace.events.purgatory import Requirement


class DelayedCreateTopics(DelayedOperation):
    """A waiting CreateTopics or CreatePartitions request. It is complete when every partition of
    every topic has a leader.

    If a topic has a partition without a leader at the time-out, the response says REQUEST_TIMED_OUT
    for this topic. The topic exists nevertheless, and gets its leaders later.
    """

    __slots__ = ("_cache", "_partitions", "_respond")

    def __init__(
        self,
        timeout_ms: int,
        partitions: dict[str, int],
        cache: MetadataCache,
        respond: Callable[[dict[str, Errors]], None],
    ) -> None:
        """`partitions` holds the number of partitions of each topic that was created or
        extended.
        """
        super().__init__(timeout_ms)
        self._partitions = partitions
        self._cache = cache
        self._respond = respond

    @property
    def label(self) -> str:
        return f"create {', '.join(self._partitions)}"

    def try_complete(self) -> bool:
        """Complete the request if every partition has a leader. Return whether it was completed.
        O(partitions).
        """
        return (
            all(self._missing_leaders(topic) == 0 for topic in self._partitions)
            and self.force_complete()
        )

    def _missing_leaders(self, topic: str) -> int:
        known = self._cache.partitions_of(topic)
        return sum(
            number not in known or known[number].leader <= NO_LEADER
            for number in range(self._partitions[topic])
        )

    def on_complete(self) -> None:
        self._respond(
            {
                t: Errors.REQUEST_TIMED_OUT if self._missing_leaders(t) else Errors.NONE
                for t in self._partitions
            }
        )

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        return "the metadata has all leaders" if by is CompletedBy.EVENT else by.value

    def why_waiting(self) -> tuple[Requirement, ...]:
        """Return a requirement for each incomplete topic: how many partitions must have a leader,
        and how many have one.
        """
        return tuple(
            self._requirement(topic) for topic in self._partitions if self._missing_leaders(topic)
        )

    def _requirement(self, topic: str) -> Requirement:
        needed = self._partitions[topic]
        return Requirement(topic, "leaders", needed, needed - self._missing_leaders(topic))
