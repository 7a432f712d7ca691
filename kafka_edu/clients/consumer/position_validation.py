"""Check positions after a change of the leader (Kafka: OffsetsForLeaderEpochClient.java; KIP-320).

After an unclean election, the new leader may lack records that the consumer has read, and may have
different records at their offsets. A consumer that continues at its old position would skip these
different records. So the consumer asks the new leader where the epoch of its last record ends:

    old leader, epoch 3    … 8 9 10 11         the consumer has read up to 11: its position is 12
    new leader, epoch 4    … 8 9 | 10' 11' 12'
    question               where does epoch 3 end?
    answer                 at 10, which is below 12: two records were truncated

With auto.offset.reset, the consumer goes back to 10 and reads 10' next. With none, `poll()` raises
LogTruncationException.
"""

from collections.abc import Callable
from typing import Final

from kafka_edu.clients.client_connections import ClientConnections
from kafka_edu.clients.client_errors import BrokerException, ClientException
from kafka_edu.clients.consumer.consumer_config import ConsumerConfig
from kafka_edu.clients.consumer.subscription_state import (
    FetchPosition,
    FetchState,
    SubscriptionState,
)
from kafka_edu.clients.metadata import NEVER, NO_LEADER, Metadata
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message

_CONSUMER: Final = -1
_FIRST_FOR_CONSUMERS: Final = 3
"""The first version that every consumer may send. Older versions need a broker's permission."""
_NEWEST: Final = REGISTRY[ApiKey.OFFSET_FOR_LEADER_EPOCH].max_version

Requested = dict[TopicPartition, FetchPosition]


class PositionValidation:
    """The questions about partitions in the state AwaitValidation."""

    def __init__(
        self,
        config: ConsumerConfig,
        metadata: Metadata,
        connections: ClientConnections,
        subscriptions: SubscriptionState,
        fail: Callable[[ClientException], None],
    ) -> None:
        """`fail` is called with an error that the next `poll()` must raise."""
        self._config = config
        self._metadata = metadata
        self._connections = connections
        self._subscriptions = subscriptions
        self._fail = fail
        self._in_flight: set[TopicPartition] = set()
        self._not_before_ms: dict[TopicPartition, tuple[FetchPosition, float]] = {}
        """Partition → when the question about this position may be sent again."""
        self._stale: dict[TopicPartition, int] = {}
        """Partition → the version of the metadata that named a wrong leader for it."""

    def run(self, now: float) -> bool:
        """Ask the leaders where epochs end, if a question is due. Send one request to each leader.
        O(partitions).

        Return whether some positions became valid at once. This happens if the leader does not
        support the request.
        """
        waiting = self._subscriptions.in_state(FetchState.AWAIT_VALIDATION)
        if not waiting:
            return False
        by_node: dict[int, list[TopicPartition]] = {}
        for tp in waiting:
            if tp in self._in_flight:
                continue
            if self._stale.get(tp) == self._metadata.version:
                continue  # a newer version of the metadata is already requested
            leader = self._metadata.leader(*tp)
            if leader == NO_LEADER:
                if self._metadata.next_update_ms(now) < NEVER:  # no update is running
                    self._metadata.request_update()
            else:
                epoch = self._metadata.topics[tp.topic].partitions[tp.partition].leader_epoch
                self._subscriptions.note_leader(tp, leader, epoch)  # it may have changed again
                requested, until_ms = self._not_before_ms.get(tp, (None, now))
                if until_ms <= now or requested != self._subscriptions.fetch_position(tp):
                    by_node.setdefault(leader, []).append(tp)
        any_valid = False
        for node, partitions in by_node.items():
            if self._connections.ready(node, now):
                any_valid |= not self._send(node, partitions, now)
        return any_valid

    def next_run_ms(self, now: float) -> float:
        """Return the ms until `run` must be called next; NEVER if nothing is planned."""
        if not self._not_before_ms:
            return NEVER
        waits = (at - now for _, at in self._not_before_ms.values() if at > now)
        return min(waits, default=NEVER)

    def _send(self, node: int, partitions: list[TopicPartition], now: float) -> bool:
        """Ask a leader where the epochs of these partitions end. Return False if the leader is too
        old for this request.
        """
        version = self._connections.version(node, ApiKey.OFFSET_FOR_LEADER_EPOCH, _NEWEST)
        requested = {tp: self._subscriptions.fetch_position(tp) for tp in partitions}
        if version < _FIRST_FOR_CONSUMERS:
            for tp, position in requested.items():
                self._subscriptions.validated(tp, position, "the broker is too old to say more")
            return False
        topics: dict[str, list[OffsetForLeaderPartition]] = {}
        for tp, position in requested.items():
            topics.setdefault(tp.topic, []).append(
                OffsetForLeaderPartition(
                    partition=tp.partition,
                    current_leader_epoch=position.leader_epoch,
                    leader_epoch=position.epoch,
                )
            )
        self._in_flight.update(requested)
        self._connections.send(
            node,
            OffsetForLeaderEpochRequest(
                replica_id=_CONSUMER,
                topics=[OffsetForLeaderTopic(topic=t, partitions=ps) for t, ps in topics.items()],
            ),
            version,
            now,
            lambda answer, at: self._answered(requested, answer, at),
        )
        return True

    def _answered(self, requested: Requested, answer: Message | None, now: float) -> None:
        self._in_flight.difference_update(requested)
        for tp, position in requested.items():
            self._not_before_ms[tp] = position, now + self._config.retry_backoff_ms
        if not isinstance(answer, OffsetForLeaderEpochResponse):
            return
        for topic in answer.topics:
            for end in topic.partitions:
                tp = TopicPartition(topic.topic, end.partition)
                if tp in requested:
                    self._ended(tp, requested[tp], end, now)

    def _ended(
        self, tp: TopicPartition, requested: FetchPosition, end: EpochEndOffset, now: float
    ) -> None:
        error = Errors.of(end.error_code)
        if error is Errors.NONE:
            del self._not_before_ms[tp]
            self._stale.pop(tp, None)
            try:
                self._subscriptions.epoch_ended(tp, requested, end.end_offset, end.leader_epoch)
            except ClientException as truncated:
                self._not_before_ms[tp] = requested, now + self._config.request_timeout_ms
                self._fail(truncated)
        elif error.retriable or error in (Errors.FENCED_LEADER_EPOCH, Errors.UNKNOWN_LEADER_EPOCH):
            self._stale[tp] = self._metadata.version
            self._metadata.request_update()
        else:
            self._not_before_ms[tp] = requested, now + self._config.request_timeout_ms
            self._fail(BrokerException(error, f"Partition {tp}: {error.message}"))
