"""ElectLeaders requests that wait until this broker knows the new leaders (Kafka:
DelayedElectLeader.scala).

The controller has elected the leaders and written them to ZooKeeper. The response waits until the
controller's UpdateMetadata request has reached this broker too. A client that requests metadata
after the response then gets the new leader.
"""

from collections.abc import Callable, Hashable

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.words import joined
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.trace.events.purgatory import Requirement


class DelayedElectLeader(DelayedOperation):
    """A waiting ElectLeaders request. It is complete when this broker's metadata cache has every
    elected leader.

    If the cache does not have a partition's new leader at the time-out, the response says
    REQUEST_TIMED_OUT for this partition.
    """

    __slots__ = ("_cache", "_expected", "_respond")

    def __init__(
        self,
        timeout_ms: int,
        expected: dict[TopicPartition, int],
        cache: MetadataCache,
        respond: Callable[[dict[TopicPartition, Errors]], None],
    ) -> None:
        """`expected` holds the id of the new leader of each partition."""
        super().__init__(timeout_ms)
        self._expected = expected
        self._cache = cache
        self._respond = respond

    @property
    def label(self) -> str:
        return f"elect leaders of {joined(self._expected)}"

    def _known(self, tp: TopicPartition) -> int:
        state = self._cache.get_partition_state(tp)
        return state.leader if state is not None else -1

    def try_complete(self) -> bool:
        """Complete the request if the cache has all new leaders. Return whether it was completed.
        O(partitions).
        """
        return (
            all(self._known(tp) == leader for tp, leader in self._expected.items())
            and self.force_complete()
        )

    def on_complete(self) -> None:
        self._respond(
            {
                tp: Errors.NONE if self._known(tp) == leader else Errors.REQUEST_TIMED_OUT
                for tp, leader in self._expected.items()
            }
        )

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        return "the metadata has the new leaders" if by is CompletedBy.EVENT else by.value

    def why_waiting(self) -> tuple[Requirement, ...]:
        """Return a requirement for each partition whose new leader is not in the cache: the id of
        the expected leader, and the id of the leader in the cache.
        """
        return tuple(
            Requirement(str(tp), "leader", leader, self._known(tp))
            for tp, leader in self._expected.items()
            if self._known(tp) != leader
        )
