"""All partitions that have a replica on this broker, and the requests that read and write them
(Kafka: ReplicaManager.scala).

Synchronous: a call does what can be done now; what must wait goes into a purgatory and answers
later, through the `respond` it was given. The shell hands in its clock, ZooKeeper's writer, the
fetchers and the scheduler (`assembly`). Owned by the broker's loop.

    produce:  append to each log → acks 0, 1: answer; acks all: DelayedProduce until the HW has
    passed, or the time is up
    fetch:    read each log → enough bytes, an error, or no time to wait: answer; else DelayedFetch,
    which reads a second time when it is done
    a follower's fetch is also its acknowledgement: it moves the follower's LEO here, maybe the HW,
    and so completes the other two

Next hop: Partition.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.common.time import Time
from kafka_edu.common.topic import is_internal
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.fetch_data_info import TimestampOffset
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_manager import LogManager
from kafka_edu.log.log_validator import RecordValidationError
from kafka_edu.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kafka_edu.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafka_edu.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.replication.controller_requests import ControllerRequests
from kafka_edu.replication.delayed_delete_records import DelayedDeleteRecords, DeleteRecordsStatus
from kafka_edu.replication.delayed_fetch import DelayedFetch
from kafka_edu.replication.delayed_operations import DelayedOperations
from kafka_edu.replication.delayed_produce import DelayedProduce, ProducePartitionStatus
from kafka_edu.replication.fetch_params import (
    CONSUMER_REPLICA_ID,
    DEBUGGING_REPLICA_ID,
    READ_UNCOMMITTED,
    FetchIsolation,
    FetchParams,
    PartitionFetch,
    check_isolation_level,
    fetch_isolation,
)
from kafka_edu.replication.fetch_session import FetchSession
from kafka_edu.replication.high_watermark_checkpoints import HighWatermarkCheckpoints
from kafka_edu.replication.isr_change_propagation import IsrChangePropagation
from kafka_edu.replication.isr_store import IsrProposal
from kafka_edu.replication.legacy_offsets import legacy_offsets_before
from kafka_edu.replication.log_read_result import EpochAndOffset, LogReadResult, failed_read
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partition_view import partition_offsets, partition_snapshot
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.replication import PartitionOffline
from kafka_edu.trace.tracer import Tracer

FetchInfos = Sequence[tuple[TopicPartition, PartitionFetch]]
FetchResults = list[tuple[TopicPartition, LogReadResult]]
ProduceResults = dict[TopicPartition, ProducePartitionStatus]


class LeadershipListener(Protocol):
    """Who must know when this broker begins or ceases to lead a partition of one topic: a
    coordinator, for its internal topic.
    """

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """This broker leads that partition from now on, and did not before; all that is to be read
        of it lies in its log.
        """
        ...

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """This broker does not lead that partition any more, or never did: it follows a leader of
        that epoch; None: its replica is removed.
        """
        ...


class Fetchers(Protocol):
    """Who fetches for the followers here (ReplicaFetcherManager)."""

    def add_fetcher_for_partitions(
        self, partitions: Sequence[Partition], live_leaders: Mapping[int, tuple[str, int]]
    ) -> None:
        """Start to follow; `live_leaders`: host and port by broker id, as the controller's request
        names them.
        """
        ...

    def remove_fetcher_for_partitions(self, topic_partitions: Sequence[TopicPartition]) -> None: ...

    def shutdown_idle_fetcher_threads(self) -> None: ...


#: A produce that these refuse is not told where the log starts: it is unknown, or nobody has looked
#: at the log yet (Kafka: appendToLocalLog).
REFUSED_UNSEEN: Final = frozenset(
    {
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.MESSAGE_TOO_LARGE,
        Errors.RECORD_LIST_TOO_LARGE,
        Errors.CORRUPT_MESSAGE,
        Errors.KAFKA_STORAGE_ERROR,
    }
)


class ReplicaManager:
    """Owner of the broker's partitions. `all_partitions` is in the order in which the controller
    named them.
    """

    def __init__(
        self,
        config: ReplicationConfig,
        time: Time,
        log_manager: LogManager,
        metadata_cache: MetadataCache,
        produce_purgatory: DelayedOperationPurgatory[DelayedProduce],
        fetch_purgatory: DelayedOperationPurgatory[DelayedFetch],
        delete_records_purgatory: DelayedOperationPurgatory[DelayedDeleteRecords],
        checkpoints: HighWatermarkCheckpoints,
        fetchers: Fetchers,
        propose_isr: Callable[[IsrProposal], None],
        topic_config: Callable[[str], LogConfig],
        trace: Tracer | None = None,
    ) -> None:
        self.config = config
        self.broker_id = config.broker_id
        self.log_manager = log_manager
        self.metadata_cache = metadata_cache
        self.delayed_produce_purgatory = produce_purgatory
        self.delayed_fetch_purgatory = fetch_purgatory
        self.delayed_delete_records_purgatory = delete_records_purgatory
        self.checkpoints = checkpoints
        self.fetchers = fetchers
        self.isr_changes = IsrChangePropagation(time.hi_res_clock_ms())
        self._time = time
        self._propose_isr = propose_isr
        self._topic_config = topic_config
        self._trace = trace
        self.all_partitions: dict[TopicPartition, Partition] = {}
        self._offline: dict[TopicPartition, None] = {}
        self._leadership_listeners: dict[str, LeadershipListener] = {}
        self.controller_requests = ControllerRequests(self, time, trace)
        if trace:
            trace.on_snapshot(self._snapshots)
            trace.on_gauges(self._gauges)

    def get_partition(self, topic_partition: TopicPartition) -> Partition | None:
        """The partition if it has a replica here that is not offline. O(1)."""
        return self.all_partitions.get(topic_partition)

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self._offline

    def get_or_create_partition(self, topic_partition: TopicPartition) -> Partition:
        partition = self.all_partitions.get(topic_partition)
        if partition is None:
            delayed = DelayedOperations(
                topic_partition,
                self.delayed_produce_purgatory,
                self.delayed_fetch_purgatory,
                self.delayed_delete_records_purgatory,
            )
            max_lag_ms = self.config.replica_lag_time_max_ms
            partition = Partition(
                topic_partition, self.broker_id, max_lag_ms, delayed, self._propose_isr, self._trace
            )
            self.all_partitions[topic_partition] = partition
        return partition

    def partition_or_exception(self, topic_partition: TopicPartition) -> Partition:
        """The partition, or KAFKA_STORAGE_ERROR (its disk failed), NOT_LEADER_OR_FOLLOWER (it
        exists, elsewhere), UNKNOWN_TOPIC_OR_PARTITION.
        """
        partition = self.all_partitions.get(topic_partition)
        if partition is None:
            if topic_partition in self._offline:
                raise KafkaException(Errors.KAFKA_STORAGE_ERROR)
            known = self.metadata_cache.contains(topic_partition)
            raise KafkaException(
                Errors.NOT_LEADER_OR_FOLLOWER if known else Errors.UNKNOWN_TOPIC_OR_PARTITION
            )
        return partition

    def get_or_create_log(self, topic_partition: TopicPartition, *, is_new: bool) -> Log:
        """The replica's log; a new one under the topic's own settings. Raises
        KAFKA_STORAGE_ERROR.
        """
        return self.log_manager.get_or_create_log(
            topic_partition, self._topic_config(topic_partition.topic), is_new=is_new
        )

    def mark_partition_offline(self, topic_partition: TopicPartition) -> None:
        """Door: the disk below it failed. Waiting requests end with an error."""
        if topic_partition in self._offline:
            return
        self._offline[topic_partition] = None
        self.fetchers.remove_fetcher_for_partitions([topic_partition])
        partition = self.all_partitions.pop(topic_partition, None)
        if partition is not None:
            partition.delete()
        if self._trace:
            self._trace(
                PartitionOffline(topic=topic_partition.topic, partition=topic_partition.partition)
            )
        self.replica_removed(topic_partition)

    def on_storage_error(self, topic_partition: TopicPartition, failure: KafkaException) -> None:
        """A read or write of that partition failed on its disk: the log manager gives up the whole
        dir.
        """
        partition = self.all_partitions.get(topic_partition)
        if partition is not None and partition.log is not None:
            cause = failure.__cause__
            self.log_manager.handle_log_dir_failure(
                partition.log.log_dir,
                cause if isinstance(cause, OSError) else OSError(failure.message),
            )
        self.mark_partition_offline(topic_partition)

    def forget_partition(self, topic_partition: TopicPartition) -> Partition | None:
        """Its replica here is deleted."""
        self._offline.pop(topic_partition, None)
        return self.all_partitions.pop(topic_partition, None)

    def listen_for_leadership(self, topic: str, listener: LeadershipListener) -> None:
        """Tell `listener` of each change of leadership of this topic's partitions, from now on. One
        listener a topic.
        """
        if topic in self._leadership_listeners:
            raise ValueError(f"{topic} has a listener already")
        self._leadership_listeners[topic] = listener

    def leadership_changed(
        self, leaders: Iterable[Partition], followers: Iterable[Partition]
    ) -> None:
        """The controller's order is carried out (Kafka: onLeadershipChange): who listens is told,
        leaders first. O(partitions).
        """
        listeners = self._leadership_listeners
        for partition in leaders:
            if (listener := listeners.get(partition.topic_partition.topic)) is not None:
                listener.on_election(partition.topic_partition.partition, partition.leader_epoch)
        for partition in followers:
            if (listener := listeners.get(partition.topic_partition.topic)) is not None:
                listener.on_resignation(partition.topic_partition.partition, partition.leader_epoch)

    def replica_removed(self, topic_partition: TopicPartition) -> None:
        """Have a coordinator on this partition resign: a StopReplica has deleted the replica, or
        its disk failed.

        No LeaderAndIsr does: the old leader of a partition that moved to other brokers gets none,
        and an offline partition refuses it.
        """
        if (listener := self._leadership_listeners.get(topic_partition.topic)) is not None:
            listener.on_resignation(topic_partition.partition, None)

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        entries: dict[TopicPartition, Buffer],
        respond: Callable[[ProduceResults], None],
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        """Append each partition's records as leader; `respond` is called once: now, or when the ISR
        has them, or after `timeout_ms`.

        The one way into a log for producers and for this broker's own coordinators, who say so by
        `origin`. `on_failure` is told of a bug that shows while the request waits
        (DelayedOperation.fail). acks other than -1, 0, 1: INVALID_REQUIRED_ACKS everywhere. One
        partition's error leaves the others alone.
        """
        if required_acks not in (-1, 0, 1):
            respond(
                {tp: ProducePartitionStatus.failed(Errors.INVALID_REQUIRED_ACKS) for tp in entries}
            )
            return
        appended: list[tuple[Partition, bool]] = []
        try:
            results = self._append_to_logs(entries, required_acks, origin, appended)
            if required_acks == -1 and appended:
                operation = DelayedProduce(timeout_ms, results, self, respond)
                operation.on_failure = on_failure
                self.delayed_produce_purgatory.try_complete_else_watch(operation, tuple(results))
            else:
                respond(results)
        finally:  # also after a failure: others wait for what was appended
            for partition, advanced in appended:
                partition.wake_after_append(advanced)

    def _append_to_logs(
        self,
        entries: dict[TopicPartition, Buffer],
        required_acks: int,
        origin: AppendOrigin,
        appended: list[tuple[Partition, bool]],
    ) -> ProduceResults:
        """Append, and note in `appended` where that was done and whether the HW moved. Returns what
        is to be answered for each partition.
        """
        now_ms, wall_ms = self._time.hi_res_clock_ms(), self._time.milliseconds()
        results: ProduceResults = {}
        for tp, records in entries.items():
            try:
                partition = self.partition_or_exception(tp)
                info, advanced = partition.append_records_to_leader(
                    records, required_acks, now_ms, wall_ms, origin
                )
            except KafkaException as failure:
                results[tp] = self._refused(tp, failure)
                if failure.error is Errors.KAFKA_STORAGE_ERROR:
                    self.on_storage_error(tp, failure)
            else:
                appended.append((partition, advanced))
                results[tp] = ProducePartitionStatus(
                    Errors.NONE,
                    info.last_offset + 1,
                    info.first_offset,
                    info.log_append_time,
                    info.log_start_offset,
                )
        return results

    def _refused(self, tp: TopicPartition, failure: KafkaException) -> ProducePartitionStatus:
        seen = isinstance(failure, RecordValidationError)
        record_errors = failure.record_errors if isinstance(failure, RecordValidationError) else ()
        unseen = failure.error in REFUSED_UNSEEN and not seen
        partition = None if unseen else self.all_partitions.get(tp)
        log_start_offset = partition.log_start_offset if partition is not None else -1
        return ProducePartitionStatus.failed(
            failure.error, failure.message, log_start_offset, record_errors
        )

    def fetch_messages(
        self,
        params: FetchParams,
        infos: FetchInfos,
        respond: Callable[[FetchResults], None],
        session: FetchSession | None = None,
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        """Read what is wanted; `respond` is called once: now, or when there are `min_bytes`, or
        after `max_wait_ms`.

        `session`: whose `infos` they are, where others of its partitions rest, and may wake while
        this waits.

        A follower's fetch first tells where the follower is (book 001). At once: no time to wait,
        nothing wanted, enough bytes, an error, or a diverging epoch to be told.
        """
        now_ms = self._time.hi_res_clock_ms()
        results = self.read_from_local_log(params, infos)
        if params.replica_id >= 0:
            self._update_follower_fetch_state(params.replica_id, infos, results, now_ms)
        at_once = params.max_wait_ms <= 0 or not (infos or session)
        readable = 0
        for _, read in results:
            readable += read.size_in_bytes
            if read.error is not Errors.NONE or read.diverging_epoch is not None:
                at_once = True
        if at_once or readable >= params.min_bytes:
            respond(results)
            return
        operation = DelayedFetch(params, infos, results, self, respond, session)
        operation.on_failure = on_failure
        keys: dict[Hashable, None] = dict.fromkeys([tp for tp, _ in infos])
        if session is not None and session.has_resting:
            keys[session.key] = None
        self.delayed_fetch_purgatory.try_complete_else_watch(operation, tuple(keys))

    def read_from_local_log(self, params: FetchParams, infos: FetchInfos) -> FetchResults:
        """One read of each partition, in order, within `max_bytes` together; the first with records
        may exceed all limits by one batch.

        A negative limit spoils the partition whose limit it is. A negative `max_bytes` is the first
        partition's limit; for the others it is 0.
        """
        left = params.max_bytes
        hard_limit = params.hard_max_bytes_limit
        only_from_leader, isolation = params.only_from_leader, params.isolation
        read_committed = isolation is FetchIsolation.TXN_COMMITTED
        min_one_message = not hard_limit
        results: FetchResults = []
        for tp, wanted in infos:
            at_end = wanted.at_end
            if at_end is not None:
                if (
                    at_end.holds()
                    and (at_end.read.aborted_transactions is not None) is read_committed
                ):
                    results.append((tp, at_end.read))
                    if left < 0:
                        left = 0
                    continue
                wanted.at_end = None
            try:
                partition = self.partition_or_exception(tp)
                read = partition.read_records(
                    wanted.fetch_offset,
                    min(wanted.max_bytes, left),
                    current_leader_epoch=wanted.current_leader_epoch,
                    last_fetched_epoch=wanted.last_fetched_epoch,
                    only_from_leader=only_from_leader,
                    isolation=isolation,
                    min_one_message=min_one_message,
                    hard_limit=hard_limit,
                )
            except KafkaException as failure:
                read = failed_read(failure.error)
            else:
                if read.size_in_bytes:
                    min_one_message = False
                    left = max(0, left - read.size_in_bytes)
                elif (
                    wanted.fetch_offset == read.log_end_offset == read.high_watermark
                    and read.diverging_epoch is None
                ):
                    wanted.at_end = partition.reader_at_end(read, params.replica_id)
            if left < 0:
                left = 0
            results.append((tp, read))
        return results

    def _update_follower_fetch_state(
        self, follower_id: int, infos: FetchInfos, results: FetchResults, now_ms: int
    ) -> None:
        """Each partition learns where the follower is. A stranger (not assigned, so it should not
        fetch) is given nothing.
        """
        for i, (tp, read) in enumerate(results):
            wanted = infos[i][1]
            at_end = wanted.at_end
            if at_end is not None and at_end.counted:
                at_end.fetched_again(now_ms)
            elif read.error is Errors.NONE and read.diverging_epoch is None:
                partition = self.all_partitions.get(tp)
                if partition is None or not partition.update_follower_fetch_state(
                    follower_id, read, wanted.log_start_offset, now_ms
                ):
                    results[i] = (tp, read.without_records())
                elif at_end is not None:
                    at_end.counted = True

    def delete_records(
        self,
        timeout_ms: int,
        offsets: Mapping[TopicPartition, int],
        respond: Callable[[dict[TopicPartition, DeleteRecordsStatus]], None],
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        """Give up the records below `offsets` (-1: the HW); `respond` is called when all live
        replicas start there, or after `timeout_ms`.
        """
        statuses: dict[TopicPartition, DeleteRecordsStatus] = {}
        for tp, offset in offsets.items():
            try:
                if is_internal(tp.topic):
                    raise KafkaException(
                        Errors.INVALID_TOPIC_EXCEPTION,
                        f"records of the internal topic {tp.topic} cannot be deleted",
                    )
                statuses[tp] = DeleteRecordsStatus.waiting(
                    self.partition_or_exception(tp).delete_records_on_leader(offset)
                )
            except KafkaException as failure:
                statuses[tp] = DeleteRecordsStatus.failed(failure.error)
                if failure.error is Errors.KAFKA_STORAGE_ERROR:
                    self.on_storage_error(tp, failure)
        operation = DelayedDeleteRecords(timeout_ms, statuses, self, respond)
        operation.on_failure = on_failure
        if statuses:
            self.delayed_delete_records_purgatory.try_complete_else_watch(
                operation, tuple(statuses)
            )
        else:
            respond(statuses)

    def live_broker_ids(self) -> list[int]:
        """As the metadata cache knows them."""
        return [broker.id for broker in self.metadata_cache.get_alive_brokers()]

    def fetch_offset_for_timestamp(
        self,
        topic_partition: TopicPartition,
        timestamp: int,
        replica_id: int,
        current_leader_epoch: int = -1,
        isolation_level: int = READ_UNCOMMITTED,
    ) -> TimestampOffset | None:
        """ListOffsets from v1 on, for one partition: see Partition.

        Raises its errors, and those of `check_isolation_level` for a consumer, and of
        `partition_or_exception`.
        """
        if replica_id == CONSUMER_REPLICA_ID:
            check_isolation_level(isolation_level)
        return self.partition_or_exception(topic_partition).fetch_offset_for_timestamp(
            timestamp,
            current_leader_epoch=current_leader_epoch,
            only_from_leader=replica_id != DEBUGGING_REPLICA_ID,
            isolation=fetch_isolation(replica_id, isolation_level),
        )

    def legacy_fetch_offsets(
        self, topic_partition: TopicPartition, timestamp: int, max_offsets: int, replica_id: int
    ) -> list[int]:
        """ListOffsets v0, for one partition: see `legacy_offsets`. Raises as above."""
        partition = self.partition_or_exception(topic_partition)
        log = partition.log_for_request(-1, replica_id != DEBUGGING_REPLICA_ID)
        high_watermark = (
            partition.high_watermark.message_offset if replica_id == CONSUMER_REPLICA_ID else None
        )
        with log.storage():
            return legacy_offsets_before(
                log, timestamp, max_offsets, high_watermark, self._time.milliseconds()
            )

    def last_offset_for_leader_epoch(
        self, topic_partition: TopicPartition, leader_epoch: int, current_leader_epoch: int = -1
    ) -> EpochAndOffset:
        """OffsetForLeaderEpoch, for one partition: see Partition. Raises its errors, and those of
        `partition_or_exception`.
        """
        return self.partition_or_exception(topic_partition).last_offset_for_leader_epoch(
            current_leader_epoch, leader_epoch, True
        )

    @property
    def controller_epoch(self) -> int:
        return self.controller_requests.controller_epoch

    def new_logs(self, request: LeaderAndIsrRequest) -> list[tuple[TopicPartition, bool]]:
        return self.controller_requests.new_logs(request)

    def become_leader_or_follower(
        self, request: LeaderAndIsrRequest, version: int
    ) -> LeaderAndIsrResponse:
        return self.controller_requests.become_leader_or_follower(request, version)

    def stop_replicas(self, request: StopReplicaRequest, version: int) -> StopReplicaResponse:
        return self.controller_requests.stop_replicas(request, version)

    def maybe_update_metadata_cache(self, request: UpdateMetadataRequest) -> list[TopicPartition]:
        return self.controller_requests.maybe_update_metadata_cache(request)

    def maybe_shrink_isr(self) -> None:
        """Every replica.lag.time.max.ms / 2. O(partitions)."""
        now_ms = self._time.hi_res_clock_ms()
        for partition in list(self.all_partitions.values()):
            partition.maybe_shrink_isr(now_ms)

    def isr_written(self, proposal: IsrProposal, zk_version: int | None) -> None:
        """ZooKeeper answered an ISR proposal: its partition takes it over, the controller will be
        told.
        """
        now_ms = self._time.hi_res_clock_ms()
        partition = self.all_partitions.get(proposal.topic_partition)
        if partition is not None and partition.isr_written(proposal, zk_version, now_ms):
            self.isr_changes.record(proposal.topic_partition, now_ms)

    def wants_isr(self, proposal: IsrProposal) -> bool:
        """Whether that proposal still stands: its partition is led here, and the controller has not
        spoken since.
        """
        partition = self.all_partitions.get(proposal.topic_partition)
        return partition is not None and partition.isr_state.proposal is proposal

    async def checkpoint_high_watermarks(self) -> None:
        """Every replica.high.watermark.checkpoint.interval.ms: the HW of every replica here, by log
        dir. A dir that refuses it goes offline.
        """
        by_log_dir: dict[str, dict[TopicPartition, int]] = {}
        for tp, partition in self.all_partitions.items():
            if partition.log is not None:
                by_log_dir.setdefault(partition.log.log_dir, {})[tp] = (
                    partition.high_watermark.message_offset
                )
        await self.checkpoints.write(by_log_dir, self.log_manager.handle_log_dir_failure)

    def _snapshots(self) -> Iterable[Event]:
        return [s for p in self.all_partitions.values() if (s := partition_snapshot(p)) is not None]

    def _gauges(self) -> Iterable[Event]:
        return [g for p in self.all_partitions.values() if (g := partition_offsets(p)) is not None]
