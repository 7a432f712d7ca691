"""Carry out the controller's requests: LeaderAndIsr, StopReplica and UpdateMetadata (Kafka:
becomeLeaderOrFollower, stopReplicas and maybeUpdateMetadataCache of ReplicaManager).

Two epochs fence stale requests (spec C8). First, the broker refuses a whole request with
STALE_CONTROLLER_EPOCH if the request's controller epoch is older than the latest. Second, the
broker ignores a partition in the request if the leader epoch in the request is not newer than the
leader epoch that the broker knows. The error of this partition is STALE_CONTROLLER_EPOCH too, as in
Kafka 2.0. A LeaderAndIsr request creates the replicas that do not exist yet. Next hop: Partition,
then the fetchers.

A request may contain thousands of partitions. So the partitions change their roles one at a time,
and between two of them the broker serves other requests. The caller holds the lock of role changes
all this time, so no second LeaderAndIsr or StopReplica runs at the same time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from kafka_edu.cluster.leader_and_isr import LEADER_DURING_DELETE, NO_EPOCH
from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.turns import Steps
from kafka_edu.log.new_log import NewLog
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafka_edu.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafka_edu.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_edu.replication.leadership import Leadership
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.replica_logs import KnownHighWatermarks, ReplicaLogs
from kafka_edu.trace.events.replication import (
    ControllerEpochSeen,
    ReplicaStopped,
    StaleControllerRefused,
)
from kafka_edu.trace.tracer import Tracer, because


class Fetchers(Protocol):
    """The fetchers of the partitions that this broker follows (ReplicaFetcherManager)."""

    def add_fetcher_for_partitions(
        self, partitions: Sequence[Partition], live_leaders: Mapping[int, tuple[str, int]]
    ) -> None:
        """Start to follow the partitions. `live_leaders` maps broker ids to (host, port), as the
        controller's request lists them.
        """
        ...

    def remove_fetcher_for_partitions(self, topic_partitions: Sequence[TopicPartition]) -> None: ...

    def shutdown_idle_fetcher_threads(self) -> None: ...


class Moves(Protocol):
    """The moves of replicas between this broker's log dirs (ReplicaAlterLogDirsManager)."""

    def resume(self, partition: Partition) -> None:
        """Continue the move of a partition that has a future log."""
        ...

    def stop(self, topic_partition: TopicPartition, reason: str) -> None: ...

    def shutdown_idle_threads(self) -> None: ...


class StoppedReplicas(NamedTuple):
    """The result of a StopReplica request before any log is deleted."""

    error: Errors
    """The error of the whole request."""
    errors: dict[TopicPartition, Errors]
    deleted: list[TopicPartition]
    """The partitions whose logs are still to be deleted."""


class ControllerOrders:
    """Carry out the controller's requests, and remember the highest controller epoch so far. No
    method waits for I/O.
    """

    def __init__(
        self,
        broker_id: int,
        partitions: Partitions,
        new_partition: Callable[[TopicPartition], Partition],
        replica_logs: ReplicaLogs,
        metadata_cache: MetadataCache,
        fetchers: Fetchers,
        moves: Moves,
        leadership: Leadership,
        leads_more: Callable[[Sequence[Partition]], None],
        time: Time,
        trace: Tracer | None = None,
    ) -> None:
        """`leads_more` is called with the partitions that this broker has just begun to lead."""
        self._broker_id = broker_id
        self._partitions = partitions
        self._new_partition = new_partition
        self._replica_logs = replica_logs
        self._metadata_cache = metadata_cache
        self._fetchers = fetchers
        self._moves = moves
        self._leadership = leadership
        self._leads_more = leads_more
        self._time = time
        self._trace = trace
        self.controller_epoch = 0

    def _accept(self, request: str, controller_id: int, controller_epoch: int) -> bool:
        """Return False if the controller epoch is older than the latest. A newer epoch becomes the
        latest.
        """
        current = self.controller_epoch
        if controller_epoch < current:
            if self._trace:
                self._trace(
                    StaleControllerRefused(
                        request=request,
                        controller=controller_id,
                        controller_epoch=controller_epoch,
                        current_epoch=current,
                    )
                )
            return False
        if controller_epoch > current:
            self.controller_epoch = controller_epoch
            if self._trace:
                self._trace(
                    ControllerEpochSeen(
                        controller=controller_id,
                        controller_epoch=controller_epoch,
                        previous_epoch=current,
                    )
                )
        return True

    def maybe_update_metadata_cache(self, request: UpdateMetadataRequest) -> list[TopicPartition]:
        """Update the metadata cache, and return the partitions that the request reports as deleted.

        Raises STALE_CONTROLLER_EPOCH.
        """
        if not self._accept("UpdateMetadata", request.controller_id, request.controller_epoch):
            raise KafkaException(Errors.STALE_CONTROLLER_EPOCH)
        return self._metadata_cache.update(request)

    def become_leader_or_follower(
        self, request: LeaderAndIsrRequest, version: int
    ) -> Steps[LeaderAndIsrResponse]:
        """Become leader or follower of each partition. Return the response, with an error for each.

        This broker first becomes leader of its new partitions, then follower of the others.
        O(partitions); the method may pause after each partition. A log dir may fail during a pause
        and take its partitions offline, so each step checks again whether its partition is online.
        """
        if not self._accept("LeaderAndIsr", request.controller_id, request.controller_epoch):
            return LeaderAndIsrResponse(error_code=Errors.STALE_CONTROLLER_EPOCH)
        errors: dict[TopicPartition, Errors] = {}
        to_lead: list[tuple[Partition, LeaderAndIsrPartitionState]] = []
        to_follow: list[tuple[Partition, LeaderAndIsrPartitionState]] = []
        known_high_watermarks: KnownHighWatermarks = {}
        for tp, state in _partition_states(request):
            errors[tp] = error = self._check(tp, state)
            if error is Errors.NONE:
                try:
                    partition = self._get_or_create_partition(tp)
                    self._replica_logs.attach(partition, known_high_watermarks, is_new=state.is_new)
                except KafkaException as failure:
                    errors[tp] = self._failed(tp, failure)
                else:
                    (to_lead if state.leader == self._broker_id else to_follow).append(
                        (partition, state)
                    )
            yield
        elected: list[Partition] = []
        for partition, state in to_lead:
            if self._lead(partition, state, request.controller_epoch, errors):
                elected.append(partition)
            yield
        elected = self._online(elected)
        if elected:
            with because(self._trace, elected[-1].role_event):
                self._leads_more(elected)
        changed: list[Partition] = []
        for partition, state in to_follow:
            if self._follow(partition, state, request.controller_epoch):
                changed.append(partition)
            yield
        changed = self._online(changed)
        leaders = {
            leader.broker_id: (leader.host_name, leader.port) for leader in request.live_leaders
        }
        self._fetchers.add_fetcher_for_partitions(changed, leaders)
        self._fetchers.shutdown_idle_fetcher_threads()
        for tp in errors:
            found = self._partitions.get(tp)
            if found is not None and found.log is not None:
                self._replica_logs.attach_future(found, known_high_watermarks)
                self._moves.resume(found)
            yield
        self._moves.shutdown_idle_threads()
        self._leadership.changed(elected, changed)
        for tp in errors:  # a log dir may have failed meanwhile, with all its partitions
            if self._partitions.is_offline(tp):
                errors[tp] = Errors.KAFKA_STORAGE_ERROR
        return _leader_and_isr_response(request, errors, version)

    def _lead(
        self,
        partition: Partition,
        state: LeaderAndIsrPartitionState,
        controller_epoch: int,
        errors: dict[TopicPartition, Errors],
    ) -> bool:
        """Become leader of one partition. Return True if another broker led it before."""
        tp = partition.topic_partition
        self._fetchers.remove_fetcher_for_partitions([tp])
        if self._partitions.is_offline(tp):
            return False
        try:
            return partition.make_leader(state, controller_epoch, self._time.hi_res_clock_ms())
        except (
            KafkaException
        ) as failure:  # the log could not be read, or the epoch could not be written
            errors[tp] = self._failed(tp, failure)
            return False

    def _follow(
        self, partition: Partition, state: LeaderAndIsrPartitionState, controller_epoch: int
    ) -> bool:
        """Become follower of one partition. Return True if its fetcher must start again with
        truncation.
        """
        tp = partition.topic_partition
        if self._partitions.is_offline(tp) or not partition.make_follower(state, controller_epoch):
            return False
        self._fetchers.remove_fetcher_for_partitions([tp])
        partition.wake_all()
        return True

    def _online(self, partitions: list[Partition]) -> list[Partition]:
        """Return the partitions that are still online, because their disk has not failed
        meanwhile.
        """
        return [p for p in partitions if not self._partitions.is_offline(p.topic_partition)]

    def new_logs(self, request: LeaderAndIsrRequest) -> list[NewLog]:
        """Return the logs that must be created for the request, each with its topic's settings.

        The list is empty if the request's controller is older than the latest.
        """
        if request.controller_epoch < self.controller_epoch:
            return []
        return [
            self._replica_logs.new_log(tp, is_new=state.is_new)
            for tp, state in _partition_states(request)
            if not self._replica_logs.exists(tp) and self._check(tp, state) is Errors.NONE
        ]

    def logs_refused(self, failures: Mapping[TopicPartition, KafkaException]) -> None:
        """Take partitions offline because their logs could not be created.

        When the LeaderAndIsr request is carried out after this call, it refuses these partitions. A
        second attempt to create such a log would leave a second folder.
        """
        for tp, failure in failures.items():
            self._partitions.storage_failed(tp, failure)

    def _get_or_create_partition(self, topic_partition: TopicPartition) -> Partition:
        partition = self._partitions.get(topic_partition)
        if partition is None:
            partition = self._new_partition(topic_partition)
            self._partitions.add(partition)
        return partition

    def _failed(self, tp: TopicPartition, failure: KafkaException) -> Errors:
        if failure.error is Errors.KAFKA_STORAGE_ERROR:
            self._partitions.storage_failed(tp, failure)
        return failure.error

    def _check(self, tp: TopicPartition, state: LeaderAndIsrPartitionState) -> Errors:
        if self._partitions.is_offline(tp):
            return Errors.KAFKA_STORAGE_ERROR
        partition = self._partitions.get(tp)
        if partition is not None and state.leader_epoch <= partition.leader_epoch:
            return Errors.STALE_CONTROLLER_EPOCH
        return (
            Errors.NONE if self._broker_id in state.replicas else Errors.UNKNOWN_TOPIC_OR_PARTITION
        )

    def stop_replicas(self, request: StopReplicaRequest, version: int) -> Steps[StoppedReplicas]:
        """Stop fetching and serving the partitions of the request. It may pause after each
        partition.

        From v3 on the request names a leader epoch for each partition, and an older epoch is
        fenced. The result names the logs to delete. A worker deletes them, and then
        `stop_replica_response` gets the logs that could not be deleted.
        """
        if not self._accept("StopReplica", request.controller_id, request.controller_epoch):
            return StoppedReplicas(Errors.STALE_CONTROLLER_EPOCH, {}, [])
        stopped = StoppedReplicas(Errors.NONE, {}, [])
        for tp, leader_epoch, delete in _stop_orders(request, version):
            error = self._check_stop(tp, leader_epoch)
            if error is Errors.NONE:
                self._fetchers.remove_fetcher_for_partitions([tp])
                why = "the replica is deleted" if delete else "the replica is stopped"
                self._moves.stop(tp, f"{why}, because the controller said so")
                error = self._stop_replica(tp, delete)
                if error is Errors.NONE and delete and self._replica_logs.has_files(tp):
                    stopped.deleted.append(tp)
            stopped.errors[tp] = error
            yield
        self._fetchers.shutdown_idle_fetcher_threads()
        self._moves.shutdown_idle_threads()
        return stopped

    def stop_replica_response(
        self, stopped: StoppedReplicas, failures: Mapping[TopicPartition, KafkaException]
    ) -> StopReplicaResponse:
        """Return the response. `failures` maps each partition whose log could not be deleted to the
        error.
        """
        for tp, failure in failures.items():
            stopped.errors[tp] = self._failed(tp, failure)
        return StopReplicaResponse(
            error_code=stopped.error,
            partition_errors=[
                StopReplicaPartitionError(
                    topic_name=tp.topic, partition_index=tp.partition, error_code=error
                )
                for tp, error in stopped.errors.items()
            ],
        )

    def _check_stop(self, tp: TopicPartition, leader_epoch: int) -> Errors:
        partition = self._partitions.get(tp)
        if (
            partition is None
            or leader_epoch in (NO_EPOCH, LEADER_DURING_DELETE)
            or leader_epoch >= partition.leader_epoch
        ):
            return Errors.NONE
        return Errors.FENCED_LEADER_EPOCH

    def _stop_replica(self, tp: TopicPartition, delete: bool) -> Errors:
        if delete and self._partitions.is_offline(tp):
            self._partitions.remove(tp)
            return Errors.KAFKA_STORAGE_ERROR
        partition = self._partitions.get(tp)
        if self._trace:
            self._trace(
                ReplicaStopped(
                    topic=tp.topic,
                    partition=tp.partition,
                    leader_epoch=partition.leader_epoch if partition else NO_EPOCH,
                    deleted=delete,
                )
            )
        if delete:
            self._partitions.remove(tp)
            if partition is not None:
                partition.delete()
            self._leadership.removed(tp)
        elif partition is not None:
            partition.wake_all()
        return Errors.NONE


def _partition_states(
    request: LeaderAndIsrRequest,
) -> Iterable[tuple[TopicPartition, LeaderAndIsrPartitionState]]:
    """Yield all partitions of the request. v0 and v1 have one flat list; since v2 there is a list
    for each topic.
    """
    for state in request.ungrouped_partition_states:
        yield TopicPartition(state.topic_name, state.partition_index), state
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield TopicPartition(topic.topic_name, state.partition_index), state


def _leader_and_isr_response(
    request: LeaderAndIsrRequest, errors: dict[TopicPartition, Errors], version: int
) -> LeaderAndIsrResponse:
    """Return the response. v5 lists errors by topic id, older versions list them by topic name."""
    if version < 5:
        return LeaderAndIsrResponse(
            partition_errors=[
                LeaderAndIsrPartitionError(
                    topic_name=tp.topic, partition_index=tp.partition, error_code=error
                )
                for tp, error in errors.items()
            ]
        )
    ids: dict[str, UUID] = {topic.topic_name: topic.topic_id for topic in request.topic_states}
    topics: dict[str, LeaderAndIsrTopicError] = {}
    for tp, error in errors.items():
        topic = topics.setdefault(
            tp.topic, LeaderAndIsrTopicError(topic_id=ids[tp.topic], partition_errors=[])
        )
        topic.partition_errors.append(
            LeaderAndIsrPartitionError(partition_index=tp.partition, error_code=error)
        )
    return LeaderAndIsrResponse(topics=list(topics.values()))


def _stop_orders(
    request: StopReplicaRequest, version: int
) -> list[tuple[TopicPartition, int, bool]]:
    """Return (partition, leader epoch, whether to delete its log) from a request of any version.

    The leader epoch is -1 before v3.
    """
    if version == 0:
        return [
            (TopicPartition(p.topic_name, p.partition_index), NO_EPOCH, request.delete_partitions)
            for p in request.ungrouped_partitions
        ]
    if version < 3:
        return [
            (TopicPartition(t.name, index), NO_EPOCH, request.delete_partitions)
            for t in request.topics
            for index in t.partition_indexes
        ]
    return [
        (TopicPartition(t.topic_name, p.partition_index), p.leader_epoch, p.delete_partition)
        for t in request.topic_states
        for p in t.partition_states
    ]
