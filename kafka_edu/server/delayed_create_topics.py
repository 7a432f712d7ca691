"""CreateTopics and CreatePartitions requests that wait until their partitions have leaders (Kafka:
DelayedCreatePartitions.scala; spec D2).

A topic exists when its znode is written, but it can be used only when the controller has elected
leaders and told the brokers. So the answer waits here, under the names of its topics;
UpdateMetadata wakes it, when this broker's own metadata cache has a leader for each partition.
"""

from collections.abc import Callable

from kafka_edu.cluster.leader_and_isr import NO_LEADER
from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.purgatory.delayed_operation import DelayedOperation
from kafka_edu.trace.events.purgatory import Requirement


class DelayedCreateTopics(DelayedOperation):
    """Done when every partition of every topic has a leader. What has none when the time is up is
    told as REQUEST_TIMED_OUT: the topic exists all the same, and gets its leaders later.
    """

    __slots__ = ("_cache", "_partitions", "_respond")

    def __init__(
        self,
        timeout_ms: int,
        partitions: dict[str, int],
        cache: MetadataCache,
        respond: Callable[[dict[str, Errors]], None],
    ) -> None:
        """`partitions`: how many each of the topics that were created, or extended, has."""
        super().__init__(timeout_ms)
        self._partitions = partitions
        self._cache = cache
        self._respond = respond

    @property
    def label(self) -> str:
        return f"create {', '.join(self._partitions)}"

    def try_complete(self) -> bool:
        """O(partitions) at worst."""
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

    def why_waiting(self) -> tuple[Requirement, ...]:
        """For each topic: how many partitions must have a leader, and how many have."""
        return tuple(
            self._requirement(topic) for topic in self._partitions if self._missing_leaders(topic)
        )

    def _requirement(self, topic: str) -> Requirement:
        needed = self._partitions[topic]
        return Requirement(topic, "leaders", needed, needed - self._missing_leaders(topic))
