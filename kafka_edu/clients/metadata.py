"""A client's copy of the cluster's metadata (Kafka: Metadata.java, ProducerMetadata.java).

The copy contains the brokers, and the leader of each partition of the topics that the client uses.
The copy is out of date after metadata.max.age.ms, or when a broker answers that it is not the
leader. After a failed update, the next update waits for retry.backoff.ms. A topic that was not used
for metadata.max.idle.ms is left out.

A consumer with a pattern requests all topics, because only the brokers know which topics exist. It
keeps the topics that match.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

NO_LEADER: Final = -1
NEVER: Final = float("inf")


class ClientNode(NamedTuple):
    """A broker's id and address. A bootstrap server has the id -1, -2 and so on."""

    id: int
    host: str
    port: int


class PartitionInfo(NamedTuple):
    """One partition's leader, and the epoch of this leader. Both are -1 if unknown."""

    partition: int
    leader: int
    leader_epoch: int


Retain = Callable[[str, bool], bool]
"""A function (topic's name, whether the topic is internal) → whether to keep the topic."""


class TopicInfo:
    """One topic in the metadata. It never changes."""

    __slots__ = ("available", "partitions", "topic")

    def __init__(self, topic: str, partitions: Sequence[PartitionInfo]) -> None:
        self.topic = topic
        self.partitions = tuple(partitions)
        """The partitions, in the order of their numbers from 0."""
        self.available = tuple(p.partition for p in partitions if p.leader != NO_LEADER)
        """The numbers of the partitions that have a leader."""

    def __len__(self) -> int:
        return len(self.partitions)


class Metadata:
    """The brokers and topics of the cluster, and the time of the next update.

    The client's event loop owns it. All times are in ms of the monotonic clock.
    """

    def __init__(
        self,
        bootstrap: Sequence[tuple[str, int]],
        retry_backoff_ms: float,
        max_age_ms: float,
        max_idle_ms: float,
        *,
        allow_auto_creation: bool = True,
    ) -> None:
        """With `allow_auto_creation`, a broker may create a topic that the client requests by its
        name.
        """
        self._bootstrap = [
            ClientNode(-number, host, port) for number, (host, port) in enumerate(bootstrap, 1)
        ]
        self.nodes: dict[int, ClientNode] = {node.id: node for node in self._bootstrap}
        self.topics: dict[str, TopicInfo] = {}
        self.errors: dict[str, Errors] = {}
        """Topic → its error in the last metadata."""
        self.version = 0
        """The number of successful updates."""
        self.retained: tuple[str, ...] = ()
        """After `ask_for_all`: the topics that `retain` accepted in the last update."""
        self.retained_version = 0
        """The version of the update that set `retained`. 0 if no update contained all topics
        yet.
        """
        self._retain: Retain | None = None
        self._requested_all = False
        self._allow_auto_creation = allow_auto_creation
        self._retry_backoff_ms = retry_backoff_ms
        self._max_age_ms = max_age_ms
        self._max_idle_ms = max_idle_ms
        self._used_ms: dict[str, float] = {}
        self._new = False
        """Whether the client needs something for the first time. Then the backoff is ignored."""
        self._needed = False
        self._in_progress = False
        self._last_try_ms = -NEVER
        self._last_success_ms = -NEVER

    def use(self, topic: str, now: float) -> TopicInfo | None:
        """Record that the topic is used now. Return its metadata, or None if unknown. O(1)."""
        if topic not in self._used_ms:
            self._new = self._needed = True
        self._used_ms[topic] = now
        return self.topics.get(topic)

    def ask_for_all(self, retain: Retain | None) -> None:
        """Request all topics from now on, and keep the topics that `retain` accepts. If `retain` is
        None, request only the used topics again.
        """
        self._retain = retain
        self.retained, self.retained_version = (), 0
        if retain is not None:
            self._new = self._needed = True

    def request_update(self) -> None:
        """Update the metadata as soon as the backoff allows it."""
        self._needed = True

    def leader(self, topic: str, partition: int) -> int:
        """Return the broker id of the partition's leader, or NO_LEADER. O(1)."""
        return self.leader_and_epoch((topic, partition))[0]

    def leader_and_epoch(self, tp: tuple[str, int]) -> tuple[int, int]:
        """Return the broker id of the partition's leader, or NO_LEADER, and its epoch. O(1)."""
        topic, partition = tp
        info = self.topics.get(topic)
        if info is None or partition >= len(info.partitions):
            return NO_LEADER, -1
        _, leader, leader_epoch = info.partitions[partition]
        return (leader if leader in self.nodes else NO_LEADER), leader_epoch

    def next_update_ms(self, now: float) -> float:
        """Return the number of ms until the next update is due. 0 means now. NEVER while an update
        is running.

        A topic without metadata does not wait for the backoff of the last update.
        """
        if self._in_progress or not (self._used_ms or self._retain):
            return NEVER
        at_ms = now if self._needed else self._last_success_ms + self._max_age_ms
        if not self._new and self._last_try_ms + self._retry_backoff_ms > at_ms:
            at_ms = self._last_try_ms + self._retry_backoff_ms
        return at_ms - now if at_ms > now else 0

    def request(self, now: float) -> MetadataRequest:
        """Return the request for the next update. From now on the update is running."""
        idle = [t for t, used in self._used_ms.items() if now - used >= self._max_idle_ms]
        for topic in idle:
            del self._used_ms[topic]
            self.topics.pop(topic, None)
            self.errors.pop(topic, None)
        self._in_progress, self._needed, self._last_try_ms = True, False, now
        self._new = False
        self._requested_all = self._retain is not None
        if self._requested_all:  # this creates no topic, so the flag keeps its default value
            return MetadataRequest(topics=None, allow_auto_topic_creation=True)
        for topic in self.topics.keys() - self._used_ms.keys():
            del self.topics[topic]
        return MetadataRequest(
            topics=[MetadataRequestTopic(name=topic) for topic in self._used_ms],
            allow_auto_topic_creation=self._allow_auto_creation,
        )

    def update_failed(self, now: float) -> None:
        """Record that the update got no answer. The next update waits for the backoff."""
        self._in_progress, self._needed, self._last_try_ms = False, True, now

    def update(self, response: MetadataResponse, now: float) -> None:
        """Replace the copy with a broker's answer.

        A partition's older leader epoch never replaces a newer one, because brokers learn of a new
        leader at different times (KIP-320). An answer without brokers is ignored.
        """
        if not response.brokers:
            self.update_failed(now)
            return
        self._in_progress, self._last_try_ms, self._last_success_ms = False, now, now
        self.version += 1
        self.nodes = {b.node_id: ClientNode(b.node_id, b.host, b.port) for b in response.brokers}
        retain = self._retain if self._requested_all else None
        if retain is not None:
            self._keep_only(response, retain)
        for topic in response.topics:
            if topic.name not in self._used_ms and topic.name not in self.retained:
                continue
            error = Errors.of(topic.error_code)
            if error is not Errors.NONE:
                self.errors[topic.name] = error
                if error is not Errors.LEADER_NOT_AVAILABLE:
                    self.topics.pop(topic.name, None)
                self._needed = self._needed or error.retriable
                continue
            self.errors.pop(topic.name, None)
            known = self.topics.get(topic.name)
            answered = {each.partition_index: each for each in topic.partitions}
            partitions = []
            # A broker that has just started may not know all partitions yet.
            for index in range(max(answered, default=-1) + 1):
                info = PartitionInfo(index, NO_LEADER, -1)
                if (new := answered.get(index)) is not None:
                    info = PartitionInfo(index, new.leader_id, new.leader_epoch)
                if known is not None and index < len(known):
                    old = known.partitions[index]
                    if new is None or 0 <= info.leader_epoch < old.leader_epoch:
                        info = old
                if new is None or info.leader not in self.nodes:
                    self._needed = True
                if info.leader not in self.nodes:
                    info = info._replace(leader=NO_LEADER)
                partitions.append(info)
            self.topics[topic.name] = TopicInfo(topic.name, partitions)

    def _keep_only(self, response: MetadataResponse, retain: Retain) -> None:
        """Store which topics `retain` accepts. Forget all topics that are neither accepted nor
        used, and topics that do not exist any more. `response` lists all topics of the cluster.
        """
        listed = {topic.name for topic in response.topics}
        self.retained = tuple(
            topic.name
            for topic in response.topics
            if topic.error_code == Errors.NONE and retain(topic.name, topic.is_internal)
        )
        self.retained_version = self.version
        kept = listed & (self._used_ms.keys() | set(self.retained))
        self.topics = {name: info for name, info in self.topics.items() if name in kept}
        self.errors = {name: error for name, error in self.errors.items() if name in kept}
        for gone in self._used_ms.keys() - listed:
            self.errors[gone] = Errors.UNKNOWN_TOPIC_OR_PARTITION

    def rebootstrap(self) -> None:
        """Use the bootstrap servers again, because no broker of the copy can be reached."""
        self.nodes = {node.id: node for node in self._bootstrap}
