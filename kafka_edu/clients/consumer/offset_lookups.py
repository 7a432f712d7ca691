"""Ask the leaders for offsets: the start of a log, its end, or the first record since a time.

(Kafka: Fetcher.java, the part about ListOffsets.) Two kinds of code use it: resets of positions,
and the program's calls that return offsets.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from kafka_edu.clients.client_connections import ClientConnections
from kafka_edu.clients.client_errors import BrokerException, ClientException
from kafka_edu.clients.metadata import NEVER, NO_LEADER, Metadata
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message

_CONSUMER: Final = -1
_FIRST_WITH_ONE_OFFSET: Final = 1
_NEWEST: Final = REGISTRY[ApiKey.LIST_OFFSETS].max_version


class FoundOffset(NamedTuple):
    """The result of one lookup. All fields are -1 if each record is older than the timestamp."""

    offset: int
    timestamp: int
    leader_epoch: int


OnFound = Callable[[FoundOffset | None, ClientException | None, float], None]
"""Called once with the result, or with the error that cannot be retried, and with the time."""


class _Lookup:
    """One partition and timestamp, until it has its result."""

    __slots__ = ("in_flight", "not_before_ms", "on_found", "timestamp", "tp")

    def __init__(self, tp: TopicPartition, timestamp: int, on_found: OnFound) -> None:
        self.tp = tp
        self.timestamp = timestamp
        self.on_found = on_found
        self.in_flight = False
        self.not_before_ms = -NEVER


class OffsetLookups:
    """The lookups that have no result yet. Each is sent again until it has one."""

    def __init__(
        self,
        metadata: Metadata,
        connections: ClientConnections,
        retry_backoff_ms: float,
        read_committed: bool,
    ) -> None:
        self._metadata = metadata
        self._connections = connections
        self._retry_backoff_ms = retry_backoff_ms
        self._read_committed = read_committed
        self._lookups: dict[_Lookup, None] = {}

    def find(self, tp: TopicPartition, timestamp: int, on_found: OnFound) -> Callable[[], None]:
        """Begin a lookup. Return a function that cancels it."""
        lookup = _Lookup(tp, timestamp, on_found)
        self._lookups[lookup] = None
        return lambda: self._lookups.pop(lookup, None)

    def topics(self) -> set[str]:
        """Return the topics whose leaders must be known."""
        return {lookup.tp.topic for lookup in self._lookups}

    def next_run_ms(self, now: float) -> float:
        """Return the ms until a lookup may be sent again; NEVER if none is planned."""
        if not self._lookups:
            return NEVER
        return min(
            (
                each.not_before_ms - now
                for each in self._lookups
                if not each.in_flight and each.not_before_ms > now
            ),
            default=NEVER,
        )

    def run(self, now: float) -> None:
        """Send the lookups that are due, in one request to each leader. O(lookups)."""
        if not self._lookups:
            return
        by_node: dict[int, list[_Lookup]] = {}
        for lookup in self._lookups:
            if lookup.in_flight or lookup.not_before_ms > now:
                continue
            leader = self._metadata.leader(*lookup.tp)
            if leader == NO_LEADER:
                if self._metadata.next_update_ms(now) < NEVER:  # no update is running
                    self._metadata.request_update()
            else:
                by_node.setdefault(leader, []).append(lookup)
        for node, lookups in by_node.items():
            if self._connections.ready(node, now):
                self._send(node, lookups, now)

    def _send(self, node: int, lookups: list[_Lookup], now: float) -> None:
        version = self._connections.version(node, ApiKey.LIST_OFFSETS, _NEWEST)
        # A request contains each partition once. A second lookup of a partition waits for the
        # first.
        chosen = {lookup.tp: lookup for lookup in reversed(lookups)}
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for tp, lookup in chosen.items():
            lookup.in_flight = True
            topics.setdefault(tp.topic, []).append(
                ListOffsetsPartition(
                    partition_index=tp.partition,
                    current_leader_epoch=self._metadata.topics[tp.topic]
                    .partitions[tp.partition]
                    .leader_epoch,
                    timestamp=lookup.timestamp,
                )
            )
        if version < _FIRST_WITH_ONE_OFFSET:
            for lookup in chosen.values():
                self._fail(lookup, Errors.UNSUPPORTED_VERSION, now)
            return
        request = ListOffsetsRequest(
            replica_id=_CONSUMER,
            isolation_level=int(self._read_committed) if version >= 2 else 0,
            topics=[
                ListOffsetsTopic(name=topic, partitions=partitions)
                for topic, partitions in topics.items()
            ],
        )
        self._connections.send(
            node, request, version, now, lambda answer, at: self._answered(chosen, answer, at)
        )

    def _answered(
        self, lookups: dict[TopicPartition, _Lookup], answer: Message | None, now: float
    ) -> None:
        for lookup in lookups.values():
            lookup.in_flight = False
            lookup.not_before_ms = now + self._retry_backoff_ms
        if not isinstance(answer, ListOffsetsResponse):
            return
        for topic in answer.topics:
            for found in topic.partitions:
                lookup_or_none = lookups.get(TopicPartition(topic.name, found.partition_index))
                if lookup_or_none is not None and lookup_or_none in self._lookups:
                    self._found(lookup_or_none, found, now)

    def _found(self, lookup: _Lookup, found: ListOffsetsPartitionResponse, now: float) -> None:
        error = Errors.of(found.error_code)
        if error is Errors.NONE:
            del self._lookups[lookup]
            result = FoundOffset(found.offset, found.timestamp, found.leader_epoch)
            lookup.on_found(result, None, now)
        elif error.retriable or error is Errors.UNKNOWN_LEADER_EPOCH:
            self._metadata.request_update()
        else:
            self._fail(lookup, error, now)

    def _fail(self, lookup: _Lookup, error: Errors, now: float) -> None:
        del self._lookups[lookup]
        failure = BrokerException(error, f"Partition {lookup.tp}: {error.message}")
        lookup.on_found(None, failure, now)
