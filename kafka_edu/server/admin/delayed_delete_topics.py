"""DeleteTopics requests that wait until this broker's metadata cache no longer has the topics
(Kafka: DelayedDeleteTopics.scala).

When a request begins to wait, ZooKeeper already has the order to delete the topics. The controller
then informs all brokers that the topics have no leaders any more and will be deleted. The request
waits for this update. It does not wait until the files of every replica are gone, because a dead
broker deletes its files only after its next start.
"""

from collections.abc import Callable, Hashable, Sequence

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.trace.events.purgatory import Requirement


class DelayedDeleteTopics(DelayedOperation):
    """A waiting DeleteTopics request. It is complete when this broker's metadata cache has none of
    the topics.

    If the cache still has a topic at the time-out, the response says REQUEST_TIMED_OUT for this
    topic.
    """

    __slots__ = ("_cache", "_respond", "_topics")

    def __init__(
        self,
        timeout_ms: int,
        topics: Sequence[str],
        cache: MetadataCache,
        respond: Callable[[dict[str, Errors]], None],
    ) -> None:
        super().__init__(timeout_ms)
        self._topics = tuple(topics)
        self._cache = cache
        self._respond = respond

    @property
    def label(self) -> str:
        return f"delete {', '.join(self._topics)}"

    def try_complete(self) -> bool:
        """Complete the request if the cache has none of the topics. Return whether it was
        completed. O(topics).
        """
        return not any(map(self._cache.contains_topic, self._topics)) and self.force_complete()

    def on_complete(self) -> None:
        self._respond(
            {
                t: Errors.REQUEST_TIMED_OUT if self._cache.contains_topic(t) else Errors.NONE
                for t in self._topics
            }
        )

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        return "the metadata no longer has the topics" if by is CompletedBy.EVENT else by.value

    def why_waiting(self) -> tuple[Requirement, ...]:
        return tuple(
            Requirement(topic, "to be gone", 1, 0)
            for topic in self._topics
            if self._cache.contains_topic(topic)
        )
