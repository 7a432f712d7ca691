"""Fetches records, and keeps them until `poll()` returns them (Kafka: Fetcher.java).

A partition is fetched if it has a position, is not paused, and the fetcher has no records of it
that wait for `poll()`. So for a slow program, at most one response of each broker is fetched in
advance. At most one fetch is in flight to each broker. The broker answers the fetch when it has
fetch.min.bytes, or after fetch.max.wait.ms.

With client.rack, a leader may name a follower near the consumer. Then the consumer reads from the
follower, for metadata.max.age.ms or until an error (KIP-392).

Fetches to a broker form a session (KIP-227). The next fetch only names partitions whose position
has changed. Followers use the same class for their sessions.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from kafka_edu.clients.client_connections import ClientConnections
from kafka_edu.clients.client_errors import (
    BrokerException,
    ClientException,
    UnsupportedVersionException,
)
from kafka_edu.clients.consumer.consumer_config import ConsumerConfig
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.clients.consumer.fetched_records import FetchedRecords
from kafka_edu.clients.consumer.offset_lookups import FoundOffset, OffsetLookups
from kafka_edu.clients.consumer.position_validation import PositionValidation
from kafka_edu.clients.consumer.subscription_state import (
    NO_OFFSET,
    FetchPosition,
    FetchState,
    SubscriptionState,
)
from kafka_edu.clients.metadata import NEVER, NO_LEADER, Metadata
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.replication.fetch_params import (
    CONSUMER_REPLICA_ID,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    PartitionFetch,
)
from kafka_edu.replication.fetch_session_handler import FetchSessionHandler
from kafka_edu.replication.log_read_result import NO_PREFERRED_REPLICA
from kafka_edu.trace.events.consumer import RecordsFetched
from kafka_edu.trace.tracer import Tracer, because

_NEWEST: Final = REGISTRY[ApiKey.FETCH].max_version
_FIRST_WITH_V2: Final = 4
"""The first version of Fetch with batches of format v2. Kafka 0.11 introduced it."""
#: Errors after which the metadata is updated and the fetch is sent again.
_STALE_METADATA: Final = frozenset(
    {
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.REPLICA_NOT_AVAILABLE,
        Errors.KAFKA_STORAGE_ERROR,
        Errors.FENCED_LEADER_EPOCH,
        Errors.UNKNOWN_LEADER_EPOCH,
        Errors.OFFSET_NOT_AVAILABLE,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.LEADER_NOT_AVAILABLE,
    }
)


class Fetcher:
    """The fetches of one consumer, and the fetched records that poll() has not returned yet. The
    consumer's event loop owns it.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        metadata: Metadata,
        connections: ClientConnections,
        subscriptions: SubscriptionState,
        lookups: OffsetLookups,
        trace: Tracer | None = None,
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._connections = connections
        self._subscriptions = subscriptions
        self._lookups = lookups
        self._trace = trace
        self._sessions: dict[int, FetchSessionHandler] = {}
        self._in_session: dict[int, set[TopicPartition]] = {}
        self._in_flight: set[int] = set()
        self._fetched: deque[FetchedRecords] = deque()
        self._resets: dict[tuple[TopicPartition, int], Callable[[], None]] = {}
        """(partition, timestamp) of each reset in progress → a function that cancels it."""
        self._no_reset_before_ms: dict[tuple[TopicPartition, int], float] = {}
        """(partition, timestamp) of each lookup that has ended → when the same lookup may begin
        again, if the partition still has no position.
        """
        self._not_before_ms: dict[TopicPartition, float] = {}
        self._preferred: dict[TopicPartition, tuple[int, float]] = {}
        """Partition → the follower to read from, and until when (KIP-392)."""
        self._stale: dict[TopicPartition, int] = {}
        """Partition → the version of the metadata that named a wrong leader for it."""
        self._looked_at = (-1, -1)
        """The version of the metadata and the changes of the subscription at the last look at all
        partitions.
        """
        self._led: dict[int, list[TopicPartition]] = {}
        """Broker → the partitions to read from it, according to this look."""
        self._left_out: set[TopicPartition] = set()
        """The partitions that were left out of this look, because records of theirs waited."""
        self._errors: dict[str, ClientException] = {}
        """Message → an error for `collect`, in order. An error that occurs several times is raised
        once.
        """
        self._validation = PositionValidation(
            config, metadata, connections, subscriptions, self.fail
        )

    def run(self, now: float) -> None:
        """Send the lookups and fetches that are due."""
        self._begin_resets(now)
        self._lookups.run(now)
        self._send_fetches(now)
        if self._validation.run(now):
            self._send_fetches(now)

    def next_run_ms(self, now: float) -> float:
        """Return the ms until `run` must be called next; NEVER if nothing is planned."""
        due = min(self._lookups.next_run_ms(now), self._validation.next_run_ms(now))
        if self._not_before_ms or self._no_reset_before_ms:
            times = (*self._not_before_ms.values(), *self._no_reset_before_ms.values())
            due = min(due, min((at - now for at in times if at > now), default=NEVER))
        return due

    def _begin_resets(self, now: float) -> None:
        waiting = self._subscriptions.in_state(FetchState.AWAIT_RESET)
        if not (waiting or self._resets or self._no_reset_before_ms):
            return
        if self._no_reset_before_ms:
            still = set(waiting)
            self._no_reset_before_ms = {
                reset: at
                for reset, at in self._no_reset_before_ms.items()
                if at > now and reset[0] in still
            }
        wanted = {(tp, self._subscriptions.reset_target(tp)) for tp in waiting}
        for reset in self._resets.keys() - wanted:
            self._resets.pop(reset)()
        for tp in waiting:
            timestamp = self._subscriptions.reset_target(tp)
            reset = tp, timestamp
            if reset not in self._resets and reset not in self._no_reset_before_ms:
                self._look_up(tp, timestamp)

    def _look_up(self, tp: TopicPartition, timestamp: int) -> None:
        """Ask for the offset to which a position is reset. If the partition has no position after
        the answer, the same lookup may begin again after retry.backoff.ms.
        """

        def found(result: FoundOffset | None, error: ClientException | None, now: float) -> None:
            self._resets.pop((tp, timestamp), None)
            self._no_reset_before_ms[tp, timestamp] = now + self._config.retry_backoff_ms
            if result is None:
                if error is not None:
                    self.fail(error)
                return
            try:
                if result.offset == NO_OFFSET:
                    self._subscriptions.reset_found_nothing(tp, timestamp)
                else:
                    offset, epoch = result.offset, result.leader_epoch
                    self._subscriptions.reset_done(tp, timestamp, offset, epoch)
            except ClientException as no_reset:
                self.fail(no_reset)

        self._resets[tp, timestamp] = self._lookups.find(tp, timestamp, found)

    def _send_fetches(self, now: float) -> None:
        """Send one fetch to each broker from which partitions must be read, and which has no fetch
        in flight. O(partitions).

        The broker answers a fetch for partitions without new records only after fetch.max.wait.ms.
        Until then no second fetch goes to this broker. Example: a broker leads web-0 and web-1.
        Records of web-0 wait for `poll()`, and web-1 has no new records. No fetch for web-1 is sent
        now. Otherwise web-0 could not be fetched before the answer to this fetch. Kafka got a
        similar rule in 2025: KAFKA-17182.

        `_look_at_all` takes most of the time, so it is called only if something has changed.
        """
        waiting = {each.tp for each in self._fetched}
        now_at = self._metadata.version, self._subscriptions.changes
        if self._looked_at != now_at or self._preferred or not self._left_out <= waiting:
            self._looked_at = now_at
            self._look_at_all(waiting, now)
        nodes = [node for node in self._led if node not in self._in_flight]
        if not nodes:
            return
        nodes_of_waiting = {
            self._read_from(each.tp, self._metadata.leader(*each.tp), now)
            for each in self._fetched
            if self._is_wanted(each)  # not paused, and not outdated by a seek
        }
        for node in nodes:
            partitions = [tp for tp in self._led[node] if tp not in waiting]
            if not partitions or (
                node in nodes_of_waiting and not any(map(self._subscriptions.lag, partitions))
            ):
                continue
            if self._connections.ready(node, now):
                self._send(node, partitions, now)

    def _look_at_all(self, waiting: set[TopicPartition], now: float) -> None:
        """Find out from which broker each partition must be read. O(partitions)."""
        metadata = self._metadata
        self._led = {}
        self._left_out = set()
        for tp in self._subscriptions.fetchable():
            if tp in waiting:
                self._left_out.add(tp)
                continue
            if self._is_held_back(tp, now):
                self._look_again()
                continue
            leader, leader_epoch = metadata.leader_and_epoch(tp)
            if leader == NO_LEADER:
                self._look_again()
                if metadata.next_update_ms(now) < NEVER:  # no update is running
                    metadata.request_update()
            elif self._subscriptions.note_leader(tp, leader, leader_epoch):
                self._preferred.pop(tp, None)  # the new leader may name another follower
            else:
                node = self._read_from(tp, leader, now) if self._preferred else leader
                self._led.setdefault(node, []).append(tp)

    def _look_again(self) -> None:
        """Let the next `_send_fetches` look at all partitions again."""
        self._looked_at = (-1, -1)

    def _is_held_back(self, tp: TopicPartition, now: float) -> bool:
        """Return whether the partition must not be fetched now, because of an earlier error. O(1).
        After an error of stale metadata, it must wait for newer metadata, which is already
        requested.
        """
        return (
            self._not_before_ms.get(tp, now) > now or self._stale.get(tp) == self._metadata.version
        )

    def _leader_epoch(self, tp: TopicPartition) -> int:
        return self._metadata.leader_and_epoch(tp)[1]

    def _read_from(self, tp: TopicPartition, leader: int, now: float) -> int:
        """Return the broker to read from: the follower that the leader named, or the leader."""
        preferred = self._preferred.get(tp)
        if preferred is not None:
            node, until_ms = preferred
            if now < until_ms and node in self._metadata.nodes:
                return node
            del self._preferred[tp]
        return leader

    def _send(self, node: int, partitions: list[TopicPartition], now: float) -> None:
        version = self._connections.version(node, ApiKey.FETCH, _NEWEST)
        if version < _FIRST_WITH_V2:
            self.fail(
                UnsupportedVersionException(
                    f"Broker {node} serves no Fetch of version {_FIRST_WITH_V2}.",
                    "Use a broker of Kafka 0.11 or newer.",
                )
            )
            return
        session = self._sessions.setdefault(node, FetchSessionHandler())
        known = self._in_session.get(node, set())
        for gone in known.difference(partitions):
            session.remove(gone)
        requested: dict[TopicPartition, FetchPosition] = {}
        for tp in partitions:
            requested[tp] = self._subscriptions.fetch_position(tp)
            wanted = PartitionFetch(
                requested[tp].offset,
                -1,
                self._config.max_partition_fetch_bytes,
                self._leader_epoch(tp),
            )
            if tp not in known or session.requested(tp) != wanted:
                session.put(tp, wanted)
        self._in_session[node] = set(partitions)
        request = session.build()
        topics: dict[str, list[FetchPartition]] = {}
        for tp, fetch in request.to_send:
            topics.setdefault(tp.topic, []).append(
                FetchPartition(
                    partition=tp.partition,
                    current_leader_epoch=fetch.current_leader_epoch,
                    fetch_offset=fetch.fetch_offset,
                    partition_max_bytes=fetch.max_bytes,
                )
            )
        forgotten: dict[str, list[int]] = {}
        for tp in request.to_forget:
            forgotten.setdefault(tp.topic, []).append(tp.partition)
        config = self._config
        self._in_flight.add(node)
        self._connections.send(
            node,
            FetchRequest(
                replica_id=CONSUMER_REPLICA_ID,
                max_wait_ms=config.fetch_max_wait_ms,
                min_bytes=config.fetch_min_bytes,
                max_bytes=config.fetch_max_bytes,
                isolation_level=READ_COMMITTED if config.read_committed else READ_UNCOMMITTED,
                session_id=request.session_id,
                session_epoch=request.session_epoch,
                topics=[FetchTopic(topic=t, partitions=ps) for t, ps in topics.items()],
                forgotten_topics_data=[
                    ForgottenTopic(topic=t, partitions=ps) for t, ps in forgotten.items()
                ]
                if version >= 7
                else [],
                rack_id=config.client_rack,
            ),
            version,
            now,
            lambda answer, at: self._answered(node, requested, answer, at),
        )

    def _answered(
        self,
        node: int,
        requested: dict[TopicPartition, FetchPosition],
        answer: Message | None,
        now: float,
    ) -> None:
        self._in_flight.discard(node)
        session = self._sessions[node]
        if not isinstance(answer, FetchResponse):
            session.handle_error()
            return
        if not session.handle_response(Errors.of(answer.error_code), answer.session_id):
            return
        for topic in answer.responses:
            for data in topic.partition_responses:
                tp = TopicPartition(topic.topic, data.partition)
                position = requested.get(tp)
                # After a seek, a pause, a rebalance or a change of the leader, these records are
                # not needed.
                if (
                    position is not None
                    and self._subscriptions.at(tp) == position.offset
                    and self._subscriptions.fetch_position(tp) == position
                ):
                    self._fetched_partition(node, tp, position.offset, data, now)

    def _fetched_partition(
        self,
        node: int,
        tp: TopicPartition,
        offset: int,
        data: FetchablePartitionResponse,
        now: float,
    ) -> None:
        error = Errors.of(data.error_code)
        if error is not Errors.NONE:
            self._refused(tp, offset, error, now)
            return
        self._not_before_ms.pop(tp, None)
        self._stale.pop(tp, None)
        if data.preferred_read_replica != NO_PREFERRED_REPLICA:
            until_ms = now + self._config.metadata_max_age_ms
            self._preferred[tp] = data.preferred_read_replica, until_ms
        self._subscriptions.note_high_watermark(tp, data.high_watermark)
        records = memoryview(part_bytes(data.record_set or b""))
        if not records:
            return
        event = 0
        if self._trace and self._trace.hops:
            event = self._trace(
                RecordsFetched(
                    client=self._config.client_id,
                    broker_id=node,
                    topic=tp.topic,
                    partition=tp.partition,
                    offset=offset,
                    bytes=len(records),
                    high_watermark=data.high_watermark,
                )
            )
        self._fetched.append(
            FetchedRecords(
                tp,
                offset,
                records,
                data.aborted_transactions or [],
                read_committed=self._config.read_committed,
                check_crcs=self._config.check_crcs,
                event=event,
            )
        )

    def _refused(self, tp: TopicPartition, offset: int, error: Errors, now: float) -> None:
        self._look_again()
        self._not_before_ms[tp] = now + self._config.retry_backoff_ms
        if self._preferred.pop(tp, None) is not None and error is Errors.OFFSET_OUT_OF_RANGE:
            return  # a follower may be behind the leader or ahead of it, so ask the leader
        if error is Errors.OFFSET_OUT_OF_RANGE:
            try:
                self._subscriptions.out_of_range(tp, offset)
            except ClientException as no_reset:
                self.fail(no_reset)
        elif error in _STALE_METADATA:
            self._stale[tp] = self._metadata.version
            self._metadata.request_update()
        elif not error.retriable or error is Errors.CORRUPT_MESSAGE:
            self.fail(BrokerException(error, f"Partition {tp}: {error.message}"))

    def collect(self, most: int) -> list[ConsumerRecord]:
        """Return at most `most` waiting records, and move the positions after them.

        Raises an error of a fetch, once, before any records.
        """
        if self._errors:
            raise self._errors.pop(next(iter(self._errors)))
        config = self._config
        collected: list[ConsumerRecord] = []
        put_back: list[FetchedRecords] = []
        while self._fetched and len(collected) < most:
            fetched = self._fetched.popleft()
            if not self._is_wanted(fetched):
                if self._subscriptions.has(fetched.tp) and self._is_paused(fetched):
                    put_back.append(fetched)
                continue
            try:
                taken = fetched.take(
                    most - len(collected),
                    config.key_deserializer,
                    config.value_deserializer,
                )
            except ClientException as error:
                self._fetched.appendleft(fetched)
                if collected:
                    break
                self._fetched.extend(put_back)
                raise error
            with because(self._trace, fetched.event):
                self._subscriptions.advance(fetched.tp, fetched.offset, fetched.epoch, len(taken))
            collected += taken
            if not fetched.exhausted:
                self._fetched.appendleft(fetched)
        if put_back:
            self._fetched.extend(put_back)
        return collected

    def _is_wanted(self, fetched: FetchedRecords) -> bool:
        return self._subscriptions.at(fetched.tp) == fetched.offset

    def _is_paused(self, fetched: FetchedRecords) -> bool:
        return self._subscriptions.position(fetched.tp) == fetched.offset

    def fail(self, error: ClientException) -> None:
        """Let the next `collect` raise this error, unless the same error waits already."""
        self._errors.setdefault(str(error), error)

    @property
    def buffered(self) -> int:
        """Return how many partitions have waiting records."""
        return len(self._fetched)
