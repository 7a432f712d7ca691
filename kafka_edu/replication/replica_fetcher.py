"""Decide what a follower fetches from one leader, and what it does with the responses (Kafka:
AbstractFetcherThread.scala, ReplicaFetcherThread.scala).

    add ──> truncating ──OffsetForLeaderEpoch──> fetching ──fetch, append, fetch, append …
               ^   │ (sends another             error: waits for replica.fetch.backoff.ms
               └───┘  request, KIP-279)         (at first for less, if the leader does not know
                                                yet that it leads), then continues as before

This module only makes requests and handles responses; `ReplicaFetcherThread` sends and receives
them. Between a request and its response, the controller may have moved a partition to another
leader, and perhaps back again. So a response counts only if the partition still has the same
PartitionFetchState object as when the request was made.

A throttled partition that is out of sync is left out of fetches while the follower's quota is
exceeded (`replication_quota_manager`).

From inter.broker.protocol.version 2.7 on the fetch itself carries the follower's last epoch, and
the response says from which offset on the two logs differ (KIP-595).
"""

from collections.abc import Iterable
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.leader_epoch_file_cache import UNDEFINED_EPOCH
from kafka_edu.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_edu.replication.fetch_params import PartitionFetch
from kafka_edu.replication.fetch_session_handler import FetchSessionHandler
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.replication.replication_quota_manager import ReplicationQuotaManager
from kafka_edu.replication.truncation import (
    OffsetTruncationState,
    TruncatesLogs,
    offset_truncation_state,
)
from kafka_edu.trace.event import Level
from kafka_edu.trace.events.replication import (
    FetcherPartitionDelayed,
    FollowerAppended,
    FollowerStuck,
    LogTruncatedByEpoch,
    LogTruncatedByRange,
    UncleanTruncation,
)
from kafka_edu.trace.tracer import Tracer

#: Since this inter.broker.protocol.version fetches carry the epoch of the follower's last record.
TRUNCATION_ON_FETCH: Final = (2, 7)
REFUSALS_BY_CHANCE: Final = 2
"""The number of times that a leader may refuse a log end that lies within its own log, before this
is reported as a fault.

The leader's log may have changed between the refusal and the look-up.
"""
#: The errors of a broker that does not know yet that it is leader. The controller informs
#: leaders and followers at the same time, so a follower may learn of the new leader before the
#: leader itself.
TOO_EARLY: Final = frozenset(
    {Errors.NOT_LEADER_OR_FOLLOWER, Errors.UNKNOWN_LEADER_EPOCH, Errors.UNKNOWN_TOPIC_OR_PARTITION}
)
MOST_DOUBLINGS: Final = 16
FIRST_BACKOFF_MS: Final = 20
"""The first wait in ms of a follower whose new leader does not know yet that it leads. Each later
wait is twice as long, up to replica.fetch.backoff.ms (1 s). Apache Kafka waits the whole second the
first time, and meanwhile every acks=all produce waits too.
"""


class PartitionFetchState:
    """The progress of one followed partition. Each time the broker begins to follow the partition,
    it makes a new object. A late response belongs to the old object, and is dropped.
    """

    __slots__ = (
        "delayed_until_ms",
        "in_sync",
        "leader_epoch",
        "partition",
        "refused_at",
        "refused_in_vain",
        "too_early",
        "truncating",
    )

    def __init__(self, partition: Partition, leader_epoch: int) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.truncating = True
        self.in_sync = False
        """Whether the last response showed that the log has all committed records. Apache Kafka
        2.8 looks only at responses with records; so there an idle replica counts as out of sync.
        """
        self.delayed_until_ms = -1
        """The monotonic ms until which the partition is not fetched after an error; -1 without an
        error.
        """
        self.too_early = 0
        """How often the leader has answered that it does not lead the partition."""
        self.refused_at = -1
        """The follower's log end that the leader last refused, although it lies within the leader's
        log.
        """
        self.refused_in_vain = 0
        """How often the leader has refused the log end `refused_at`."""


class ReplicaFetcher:
    """All partitions that this broker follows at one leader. Owned by its ReplicaFetcherThread.

    The fetch offset of each partition is the end of its log.
    """

    def __init__(
        self,
        leader: int,
        config: ReplicationConfig,
        logs: TruncatesLogs,
        partitions: Partitions,
        quota: ReplicationQuotaManager,
        trace: Tracer | None = None,
    ) -> None:
        self.leader = leader
        self._quota = quota
        self._config = config
        self._logs = logs
        self._partitions = partitions
        self._trace = trace
        self._states: dict[TopicPartition, PartitionFetchState] = {}
        self._truncating: dict[TopicPartition, PartitionFetchState] = {}
        self._delayed: dict[TopicPartition, PartitionFetchState] = {}
        self._held_back: dict[TopicPartition, PartitionFetchState] = {}
        """The throttled partitions that the last fetch left out."""
        self._session = FetchSessionHandler()
        self._truncates_on_fetch = config.inter_broker_protocol_version >= TRUNCATION_ON_FETCH

    def __len__(self) -> int:
        return len(self._states)

    def add(self, partition: Partition) -> None:
        """Follow a partition from now on. First its log is truncated where it differs from the
        leader's.
        """
        tp = partition.topic_partition
        self.remove([tp])
        self._states[tp] = state = PartitionFetchState(partition, partition.leader_epoch)
        if self._last_epoch(tp, state) != UNDEFINED_EPOCH:
            self._start_fetching(tp, state)
        else:
            self._truncating[tp] = state

    def remove(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Stop following these partitions. The response to a request under way will be dropped for
        them.
        """
        for tp in topic_partitions:
            if self._states.pop(tp, None) is not None:
                self._leave_out(tp)

    def _start_fetching(self, tp: TopicPartition, state: PartitionFetchState) -> None:
        state.truncating = False
        self._truncating.pop(tp, None)
        self._fetch_from_log_end(tp, state)

    def _fetch_from_log_end(self, tp: TopicPartition, state: PartitionFetchState) -> None:
        log = state.partition.local_log()
        wanted = PartitionFetch(
            log.log_end_offset,
            log.log_start_offset,
            self._config.replica_fetch_max_bytes,
            state.leader_epoch,
            self._last_epoch(tp, state),
        )
        self._session.put(tp, wanted)

    def _last_epoch(self, tp: TopicPartition, state: PartitionFetchState) -> int:
        """Return the epoch of the log's last record, for the fetch request.

        -1 if the fetch does not carry the epoch, or if the log has no epoch.
        """
        if not self._truncates_on_fetch:
            return UNDEFINED_EPOCH
        return state.partition.local_log().latest_epoch

    def _delay(
        self, tp: TopicPartition, state: PartitionFetchState, error: Errors, now_ms: int
    ) -> None:
        """Do not fetch the partition for replica.fetch.backoff.ms, or for less if its leader does
        not know yet that it leads.
        """
        backoff_ms = self._config.replica_fetch_backoff_ms
        if error in TOO_EARLY:
            backoff_ms = min(backoff_ms, FIRST_BACKOFF_MS << min(state.too_early, MOST_DOUBLINGS))
            state.too_early += 1
        self._leave_out(tp)
        state.delayed_until_ms = now_ms + backoff_ms
        self._delayed[tp] = state
        self._tell_delayed(tp, error.name, backoff_ms)

    def _leave_out(self, tp: TopicPartition) -> None:
        """Leave the partition out of all requests for now. The broker still follows it."""
        self._truncating.pop(tp, None)
        self._delayed.pop(tp, None)
        self._held_back.pop(tp, None)
        self._session.remove(tp)

    def _tell_delayed(self, tp: TopicPartition, error: str, delay_ms: int) -> None:
        if self._trace:
            self._trace(
                FetcherPartitionDelayed(
                    topic=tp.topic,
                    partition=tp.partition,
                    leader=self.leader,
                    error=error,
                    delay_ms=delay_ms,
                )
            )

    def resume_delayed(self, now_ms: int) -> None:
        """Fetch again the partitions whose waiting time after an error is over."""
        for tp, state in list(self._delayed.items()):
            if state.delayed_until_ms <= now_ms:
                del self._delayed[tp]
                state.delayed_until_ms = -1
                if state.truncating:
                    self._truncating[tp] = state
                else:
                    self._fetch_from_log_end(tp, state)

    @property
    def next_resume_ms(self) -> int | None:
        """The monotonic ms at which the first waiting partition can be fetched again; None if none
        waits.
        """
        return min((state.delayed_until_ms for state in self._delayed.values()), default=None)

    def _failed(
        self, tp: TopicPartition, state: PartitionFetchState, failure: KafkaException, now_ms: int
    ) -> None:
        if failure.error is Errors.KAFKA_STORAGE_ERROR:
            self.remove([tp])
            self._partitions.storage_failed(tp, failure)
        else:
            self._delay(tp, state, failure.error, now_ms)

    def epochs_wanted(self) -> dict[TopicPartition, PartitionFetchState]:
        """Return the partitions whose last epoch must be looked up at the leader before they can
        fetch.
        """
        return dict(self._truncating)

    def epochs_request(
        self, wanted: dict[TopicPartition, PartitionFetchState]
    ) -> OffsetForLeaderEpochRequest:
        """Return the request that asks the leader where the epoch of each log's last record ends.

        For a log without epochs the request names epoch -1, which no leader knows. Then the log is
        truncated to the HW.
        """
        topics: dict[str, OffsetForLeaderTopic] = {}
        for tp, state in wanted.items():
            topic = topics.setdefault(tp.topic, OffsetForLeaderTopic(topic=tp.topic, partitions=[]))
            topic.partitions.append(
                OffsetForLeaderPartition(
                    partition=tp.partition,
                    current_leader_epoch=state.leader_epoch,
                    leader_epoch=self._epoch_to_ask(tp, state),
                )
            )
        return OffsetForLeaderEpochRequest(
            replica_id=self._config.broker_id, topics=list(topics.values())
        )

    def _epoch_to_ask(self, tp: TopicPartition, state: PartitionFetchState) -> int:
        return state.partition.local_log().latest_epoch

    def on_epochs(
        self,
        wanted: dict[TopicPartition, PartitionFetchState],
        response: OffsetForLeaderEpochResponse,
        now_ms: int,
    ) -> None:
        """Truncate the logs according to the leader's answers.

        A partition whose log is completely truncated begins to fetch. For the other partitions, one
        more look-up follows.
        """
        for topic in response.topics:
            for answer in topic.partitions:
                tp = TopicPartition(topic.topic, answer.partition)
                state = wanted.get(tp)
                if state is None or self._states.get(tp) is not state or not state.truncating:
                    continue
                if answer.error_code != Errors.NONE:
                    self._delay(tp, state, Errors.of(answer.error_code), now_ms)
                    continue
                try:
                    if self._truncate(tp, state.partition, answer.leader_epoch, answer.end_offset):
                        self._start_fetching(tp, state)
                except KafkaException as failure:
                    self._failed(tp, state, failure, now_ms)

    def _truncate(
        self, tp: TopicPartition, partition: Partition, leader_epoch: int, leader_end_offset: int
    ) -> bool:
        """Truncate the log where it begins to differ from the leader's. Return whether that is
        complete.

        If the truncation is not complete, another answer of the leader is needed.
        """
        log = partition.local_log()
        before = log.log_end_offset
        hw = partition.high_watermark.offset
        offset, complete = self._truncation_state(partition, leader_epoch, leader_end_offset)
        partition.truncate_to(offset, self._logs)
        if self._trace:
            after = log.log_end_offset
            self._trace(
                LogTruncatedByEpoch(
                    topic=tp.topic,
                    partition=tp.partition,
                    before=before,
                    after=after,
                    epoch=leader_epoch,
                    leader_end_offset=leader_end_offset,
                    leader=self.leader,
                    high_watermark=hw,
                    complete=complete,
                )
            )
            self._tell_if_unclean(partition, before, after, hw)
        partition.committed_alone = (
            -1
        )  # it was valid only for the high watermark before this truncation
        return complete

    def _truncation_state(
        self, partition: Partition, leader_epoch: int, leader_end_offset: int
    ) -> OffsetTruncationState:
        """Return the offset at which to truncate, and whether the truncation is then complete."""
        log = partition.local_log()
        return offset_truncation_state(
            leader_epoch,
            leader_end_offset,
            partition.high_watermark.offset,
            log.log_end_offset,
            log.leader_epoch_cache.entries,
        )

    def _tell_if_unclean(
        self, partition: Partition, before: int, after: int, high_watermark: int
    ) -> None:
        """Emit UncleanTruncation if the log was truncated below the high watermark.

        Committed records are lost then. A leader from the ISR has all of them, so this leader was
        not in the ISR.
        """
        if self._trace and after < high_watermark:
            tp = partition.topic_partition
            self._trace(
                UncleanTruncation(
                    topic=tp.topic,
                    partition=tp.partition,
                    leader=self.leader,
                    leader_epoch=partition.leader_epoch,
                    before=before,
                    after=after,
                    high_watermark=high_watermark,
                    records=high_watermark - after,
                    exact=partition.committed_alone == high_watermark,
                )
            )

    def _hold_back(self, now_ms: int) -> None:
        """Leave the throttled partitions out of the next fetch, or take them back into it. O(1)
        while nothing is throttled, else O(partitions).
        """
        quota = self._quota
        held_back, self._held_back = self._held_back, {}
        for tp, state in held_back.items():
            if quota.should_throttle(tp, state.in_sync, now_ms):
                self._held_back[tp] = state
            else:
                self._fetch_from_log_end(tp, state)
        if quota.active and quota.is_quota_exceeded(now_ms):
            for tp, state in self._states.items():
                if (
                    not state.truncating
                    and tp not in self._delayed
                    and tp not in self._held_back
                    and quota.should_throttle(tp, state.in_sync, now_ms)
                ):
                    self._session.remove(tp)
                    self._held_back[tp] = state

    def fetch_request(self, now_ms: int) -> FetchRequest | None:
        """Return the next fetch request; None if no partition can be fetched now.

        In a fetch session it names only the partitions that have changed (KIP-227).
        """
        if self._held_back or self._quota.active:
            self._hold_back(now_ms)
        if not len(self._session):
            return None
        config = self._config
        data = self._session.build()
        topics: dict[str, FetchTopic] = {}
        for tp, wanted in data.to_send:
            topic = topics.get(tp.topic)
            if topic is None:
                topic = topics[tp.topic] = FetchTopic(topic=tp.topic, partitions=[])
            topic.partitions.append(
                FetchPartition(
                    partition=tp.partition,
                    current_leader_epoch=wanted.current_leader_epoch,
                    fetch_offset=wanted.fetch_offset,
                    last_fetched_epoch=wanted.last_fetched_epoch,
                    log_start_offset=wanted.log_start_offset,
                    partition_max_bytes=wanted.max_bytes,
                )
            )
        forgotten: dict[str, list[int]] = {}
        for tp in data.to_forget:
            forgotten.setdefault(tp.topic, []).append(tp.partition)
        return FetchRequest(
            replica_id=config.broker_id,
            max_wait_ms=config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
            session_id=data.session_id,
            session_epoch=data.session_epoch,
            topics=list(topics.values()),
            forgotten_topics_data=[
                ForgottenTopic(topic=t, partitions=p) for t, p in forgotten.items()
            ],
        )

    def on_no_answer(self) -> None:
        """Record that no response to the fetch came."""
        self._session.handle_error()

    def on_fetch(
        self, response: FetchResponse, now_ms: int, wall_ms: int
    ) -> list[tuple[TopicPartition, PartitionFetchState]]:
        """Append the records of the response, with one append for each partition.

        Return the partitions whose fetch offset the leader does not have (OFFSET_OUT_OF_RANGE).
        """
        if not self._session.handle_response(Errors.of(response.error_code), response.session_id):
            return []
        out_of_range = []
        for topic in response.responses:
            for data in topic.partition_responses:
                tp = TopicPartition(topic.topic, data.partition)
                state = self._states.get(tp)
                requested = self._session.requested(tp)
                if state is None or requested is None:
                    continue
                error = Errors.of(data.error_code)
                if error is not Errors.NONE:
                    if self._must_look_up(tp, state, error, now_ms):
                        out_of_range.append((tp, state))
                else:
                    try:
                        self._process(tp, state, requested, data, now_ms, wall_ms)
                    except KafkaException as failure:
                        self._failed(tp, state, failure, now_ms)
        return out_of_range

    def _must_look_up(
        self, tp: TopicPartition, state: PartitionFetchState, error: Errors, now_ms: int
    ) -> bool:
        """Handle an error of a fetch. Return whether the leader's offsets must be looked up. If
        not, the partition waits.
        """
        if error is Errors.OFFSET_OUT_OF_RANGE:
            return True
        self._delay(tp, state, error, now_ms)
        return False

    def _process(
        self,
        tp: TopicPartition,
        state: PartitionFetchState,
        requested: PartitionFetch,
        data: FetchablePartitionResponse,
        now_ms: int,
        wall_ms: int,
    ) -> None:
        partition = state.partition
        log = partition.local_log()
        if requested.fetch_offset != log.log_end_offset:
            return  # the log has changed since the request
        if data.diverging_epoch.epoch >= 0:
            self._truncate(
                tp, partition, data.diverging_epoch.epoch, data.diverging_epoch.end_offset
            )
            self._fetch_from_log_end(
                tp, state
            )  # if more must be cut, the response to the next fetch says so
            return
        records = data.record_set
        if records is not None:
            batches = part_bytes(records)
            self._append(partition, requested.fetch_offset, batches, wall_ms)
            if self._quota.active and self._quota.is_throttled(tp):
                self._quota.record(len(batches), now_ms)
        state.in_sync = data.high_watermark <= log.log_end_offset
        partition.update_follower_offsets(data.high_watermark, data.log_start_offset)
        trace = self._trace
        if trace is not None and (
            trace.hops
            or (partition.first_append_pending and log.log_end_offset != requested.fetch_offset)
        ):
            level = Level.HOPS
            if log.log_end_offset != requested.fetch_offset:
                if partition.first_append_pending:
                    level = Level.STATE
                partition.first_append_pending = False
            with trace.because(partition.role_event):
                trace(
                    FollowerAppended(
                        topic=tp.topic,
                        partition=tp.partition,
                        follower=partition.broker_id,
                        fetch_offset=requested.fetch_offset,
                        log_end_offset=log.log_end_offset,
                        high_watermark=partition.high_watermark.offset,
                        leader=self.leader,
                        leader_epoch=partition.leader_epoch,
                    ),
                    level,
                )
        if (
            log.log_end_offset != requested.fetch_offset
            or log.log_start_offset != requested.log_start_offset
        ):
            self._fetch_from_log_end(tp, state)

    def _append(
        self, partition: Partition, fetch_offset: int, records: Buffer, wall_ms: int
    ) -> None:
        """Append to the follower's log.

        After DeleteRecords the leader's log may start within a batch. The leader sends the whole
        batch. If the follower's log is empty, it then begins where the batch begins. Later its log
        start is set to the leader's (Kafka: UnexpectedAppendOffsetException in
        Partition.appendRecordsToFollowerOrFutureReplica).
        """
        log = partition.local_log()
        if len(records) and fetch_offset == log.log_start_offset:
            first = int.from_bytes(records[:8], "big")
            if first < fetch_offset:
                partition.truncate_fully_and_start_at(first, self._logs)
                fetch_offset = first
        partition.append_records_to_follower(fetch_offset, records, wall_ms)

    def offsets_request(
        self, tp: TopicPartition, state: PartitionFetchState, timestamp: int
    ) -> ListOffsetsRequest:
        """Return a ListOffsets request for the leader's first offset (timestamp -2) or log end
        (-1).
        """
        wanted = ListOffsetsPartition(
            partition_index=tp.partition,
            current_leader_epoch=state.leader_epoch,
            timestamp=timestamp,
        )
        return ListOffsetsRequest(
            replica_id=self._config.broker_id,
            topics=[ListOffsetsTopic(name=tp.topic, partitions=[wanted])],
        )

    def is_current(self, tp: TopicPartition, state: PartitionFetchState) -> bool:
        """Return whether the partition still has this state object. If not, a response for it is
        dropped.
        """
        return self._states.get(tp) is state

    def on_leader_end_offset(
        self, tp: TopicPartition, state: PartitionFetchState, leader_end_offset: int
    ) -> bool:
        """Truncate the log if the leader's log end lies before our log end. Return whether it does.

        This happens after an unclean election. If the result is False, the leader's log start must
        be looked up next.
        """
        if leader_end_offset >= state.partition.local_log().log_end_offset:
            return False
        self._cut_to_leader_end(tp, state, leader_end_offset)
        return True

    def _cut_to_leader_end(
        self, tp: TopicPartition, state: PartitionFetchState, leader_end_offset: int
    ) -> None:
        log = state.partition.local_log()
        before, hw = log.log_end_offset, state.partition.high_watermark.offset
        state.partition.truncate_to(leader_end_offset, self._logs)
        self._range_truncated(tp, before, log.log_end_offset, "the leader ends before us")
        self._tell_if_unclean(state.partition, before, log.log_end_offset, hw)
        state.partition.committed_alone = -1
        self._fetch_from_log_end(tp, state)

    def _start_over(
        self, tp: TopicPartition, state: PartitionFetchState, leader_start_offset: int
    ) -> None:
        before = state.partition.local_log().log_end_offset
        state.partition.truncate_fully_and_start_at(leader_start_offset, self._logs)
        self._range_truncated(tp, before, leader_start_offset, "the leader starts behind our end")
        self._fetch_from_log_end(tp, state)

    def on_leader_start_offset(
        self, tp: TopicPartition, state: PartitionFetchState, leader_start_offset: int, now_ms: int
    ) -> None:
        """Start again with an empty log at the leader's log start, if our log ends before it.

        Otherwise the leader now has the records at our fetch offset. If it still refuses this valid
        offset, it does not know the epoch of our last record. Then Kafka sends the same fetch again
        at once, thousands of times a second, with a warning each time. Here the partition waits for
        replica.fetch.backoff.ms each time, and the reason is reported once.
        """
        log_end_offset = state.partition.local_log().log_end_offset
        if leader_start_offset > log_end_offset:
            self._start_over(tp, state, leader_start_offset)
        elif self._refused_in_vain(state, log_end_offset) > REFUSALS_BY_CHANCE:
            self._tell_stuck(tp, state)
            self._delay(tp, state, Errors.OFFSET_OUT_OF_RANGE, now_ms)
        else:
            self._fetch_from_log_end(tp, state)

    def _refused_in_vain(self, state: PartitionFetchState, log_end_offset: int) -> int:
        """Count one more refusal of a valid log end. Return how often this log end was refused."""
        if state.refused_at != log_end_offset:
            state.refused_at, state.refused_in_vain = log_end_offset, 0
        state.refused_in_vain += 1
        return state.refused_in_vain

    def _tell_stuck(self, tp: TopicPartition, state: PartitionFetchState) -> None:
        if self._trace and state.refused_in_vain == REFUSALS_BY_CHANCE + 1:
            log = state.partition.local_log()
            self._trace(
                FollowerStuck(
                    topic=tp.topic,
                    partition=tp.partition,
                    leader=self.leader,
                    log_end_offset=log.log_end_offset,
                    latest_epoch=log.latest_epoch,
                    directory=log.directory,
                )
            )

    def on_storage_failed(
        self, tp: TopicPartition, state: PartitionFetchState, failure: KafkaException, now_ms: int
    ) -> None:
        """Stop following the partition if its disk failed; after another error let it wait."""
        self._failed(tp, state, failure, now_ms)

    def on_offsets_failed(
        self, tp: TopicPartition, state: PartitionFetchState, error: Errors, now_ms: int
    ) -> None:
        """Let the partition wait for replica.fetch.backoff.ms, because the look-up of an offset
        failed.
        """
        self._delay(tp, state, error, now_ms)

    def _range_truncated(self, tp: TopicPartition, before: int, after: int, reason: str) -> None:
        if self._trace:
            self._trace(
                LogTruncatedByRange(
                    topic=tp.topic,
                    partition=tp.partition,
                    before=before,
                    after=after,
                    leader=self.leader,
                    reason=reason,
                )
            )
