"""One partition with a replica on this broker (Kafka: Partition.scala; book 001, high watermark and
leader epoch).

    offset   0 ........ log start ........ HW ........ LEO
                        | committed, seen   | stored,  | the next record goes here
                        | by consumers      | not yet  |
                        |                   | committed|

The log stores these three offsets and asserts that log start ≤ HW ≤ LEO. On a leader the high
watermark never falls within an epoch.

The leader learns its followers' LEOs from their fetches. The HW is the least LEO that counts, so it
moves when the slowest of these replicas has moved. A follower gets the HW in the response to its
fetch, so it knows the HW one fetch later than the leader. This delay of one fetch was the cause of
all cases in which Kafka used to lose records. Leader epochs prevent such losses (`truncation`).

The ISR is kept in ZooKeeper and changed by compare-and-set. `Partition` proposes a new ISR, the
shell (`isr_writer`) writes it, and `isr_written` confirms it; see `isr_state`.

A reader (consumer or follower) sends the leader epoch that it knows. If the replica has another
epoch, the reader is fenced (KIP-320). A follower must have all records, so it may read to the log's
end. A consumer may read up to the high watermark, or with read_committed up to the last stable
offset (`FetchIsolation`).

Owned by the broker's loop. `now_ms` is monotonic time, `wall_ms` is wall-clock time. Next hop of a
produce or fetch request: Log.
"""

from collections.abc import Callable, Iterable

from kafka_edu.cluster.leader_and_isr import NO_LEADER
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log import Log
from kafka_edu.log.log_append_info import LogAppendInfo
from kafka_edu.log.version_counter import VersionCounter
from kafka_edu.protocol.messages.leader_and_isr import LeaderAndIsrPartitionState
from kafka_edu.replication.delayed_operations import DelayedOperations, WaitingSession
from kafka_edu.replication.fetch_params import NO_LEADER_EPOCH
from kafka_edu.replication.high_watermark import HighWatermark, set_from_checkpoint
from kafka_edu.replication.isr import IsrProposal, IsrRule, IsrState
from kafka_edu.replication.log_read_result import (
    LogReadResult,
)
from kafka_edu.replication.replica import Replica
from kafka_edu.replication.truncation import SwapsLogs, TruncatesLogs
from kafka_edu.trace.event import Level
from kafka_edu.trace.events.replication import (
    BecameFollower,
    BecameLeader,
    ProduceAppended,
)
from kafka_edu.trace.tracer import Tracer, because


class Partition:
    """One partition on this broker, which is its leader or a follower. Owner of its ISR and its
    Replicas. The log stores HW, LEO and log start; `HighWatermark` moves the HW.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        broker_id: int,
        max_lag_ms: int,
        delayed: DelayedOperations,
        propose: Callable[[IsrProposal], None],
        trace: Tracer | None = None,
    ) -> None:
        self.topic_partition = topic_partition
        self.broker_id = broker_id
        self._trace = trace
        self.version = VersionCounter()
        """A counter that increases with each change that a reader could notice."""
        self.log: Log | None = None
        self.future_log: Log | None = None
        """The copy of the log in another log dir, which will replace `log` when it is complete. No
        request reads it. None if no move is under way.
        """
        self.high_watermark = HighWatermark(topic_partition, trace)
        self.leader = NO_LEADER
        self.leader_epoch = -1
        self.role_event = 0
        """The number of the BecameLeader or BecameFollower event by which this broker got its
        current role; 0 without a tracer.
        """
        self.leader_epoch_start_offset = -1
        """The leader's LEO when its epoch began; -1 on a follower."""
        self.max_lag_ms = max_lag_ms
        self._isr_rule = IsrRule()
        self._delayed = delayed
        self._propose = propose
        self.controller_epoch = 0
        self.assigned_replicas: tuple[int, ...] = ()
        self.adding_replicas: tuple[int, ...] = ()
        """The replicas that a reassignment is adding.

        Like all other assigned replicas, they fetch and may join the ISR.
        """
        self.isr_state = IsrState(topic_partition, trace)
        self._followers: dict[int, Replica] = {}
        self.first_ack_pending = False
        """True on a leader whose epoch has no acknowledged acks=all produce yet. The first such
        acknowledgement is emitted even at level `state`.
        """
        self.first_append_pending = False
        """True on a follower that has not appended records in its current epoch yet. The first such
        append is emitted even at level `state`.
        """
        self.committed_alone = -1
        """The HW at the moment when this replica stopped being leader and only member of the ISR.
        All records committed until then lie below it. -1 if this does not apply.
        """
        self.isr_checked_ms = 0
        """The monotonic ms at which `maybe_shrink_isr` was last called; 0 if never."""

    @property
    def is_leader(self) -> bool:
        return self.leader == self.broker_id

    @property
    def log_start_offset(self) -> int:
        """Return the log start offset of this broker's log; -1 without a log."""
        return self.log.log_start_offset if self.log is not None else -1

    def local_log(self) -> Log:
        """Return this broker's log, whether it is leader or follower. Raises
        REPLICA_NOT_AVAILABLE.
        """
        if self.log is None:
            raise KafkaException(
                Errors.REPLICA_NOT_AVAILABLE,
                f"{self.topic_partition} has no replica on broker {self.broker_id}",
            )
        return self.log

    def log_for_request(self, current_leader_epoch: int, only_from_leader: bool) -> Log:
        """Return the log from which a request is served, if the request is not fenced by epoch
        (KIP-320).

        Raises FENCED_LEADER_EPOCH if the client knows an older leader epoch than this broker.
        Raises UNKNOWN_LEADER_EPOCH if the client knows a newer epoch, about which the controller
        has not informed this broker yet. Also raises NOT_LEADER_OR_FOLLOWER and
        REPLICA_NOT_AVAILABLE. A request with NO_LEADER_EPOCH (-1) is not fenced; a request with an
        even lower epoch is fenced.
        """
        if current_leader_epoch not in (NO_LEADER_EPOCH, self.leader_epoch):
            older = current_leader_epoch < self.leader_epoch
            raise KafkaException(
                Errors.FENCED_LEADER_EPOCH if older else Errors.UNKNOWN_LEADER_EPOCH
            )
        if only_from_leader and self.leader != self.broker_id:
            raise KafkaException(Errors.NOT_LEADER_OR_FOLLOWER)
        return self.local_log()

    def attach_log(self, log: Log, checkpointed_high_watermark: int) -> None:
        """Attach this broker's log to the partition, and set its HW from the checkpoint.

        The checkpoint may have been written before a crash. If its value lies outside the log, it
        is raised to the log start or lowered to the log end.
        """
        self.log = log
        log.version = self.version
        self.high_watermark.attach(log, checkpointed_high_watermark)

    def attach_future_log(self, log: Log, checkpointed_high_watermark: int) -> None:
        """Attach the future log: a growing copy of the local replica in another log dir."""
        self.future_log = log
        set_from_checkpoint(log, checkpointed_high_watermark)

    def maybe_replace_current_with_future_replica(self, logs: SwapsLogs) -> bool:
        """Replace the local log with its copy if both end at the same offset. Return whether that
        was done. Readers and writers notice nothing. Raises KAFKA_STORAGE_ERROR.
        """
        log, future = self.log, self.future_log
        if log is None or future is None or log.log_end_offset != future.log_end_offset:
            return False
        new = logs.replace_current_with_future_log(self.topic_partition)
        self.log, self.future_log = new, None
        new.version = self.version
        self.version.value += 1
        self.high_watermark.replace_log(new, locate=self.is_leader)
        for follower in self._followers.values():
            follower.locate(new)
        self._delayed.check_and_complete_all()  # they hold places in the old segments
        return True

    @property
    def isr(self) -> tuple[int, ...]:
        """Return the ISR in ZooKeeper as far as this leader knows; empty on a follower."""
        return self.isr_state.members

    def follower(self, broker_id: int) -> Replica | None:
        """Return the leader's knowledge of one follower.

        None if `broker_id` is the leader itself or an unassigned broker, or if this broker is not
        the leader.
        """
        return self._followers.get(broker_id)

    @property
    def followers(self) -> Iterable[Replica]:
        """Return the leader's knowledge of all its followers; empty on a follower."""
        return self._followers.values()

    def make_leader(
        self, state: LeaderAndIsrPartitionState, controller_epoch: int, now_ms: int
    ) -> bool:
        """Become leader, as the controller demands. Return True if this broker did not lead before.

        The new epoch starts at the LEO, and the leader puts it into the epoch cache at once. So a
        follower with a longer log learns where to truncate, even before this leader has written any
        record. The followers' offsets are unknown until they fetch.
        """
        log = self.local_log()
        was_leader = self.is_leader
        self._take_over(state, controller_epoch)
        self.isr_state.take(tuple(state.isr), state.zk_version)
        self.leader_epoch_start_offset = end_offset = log.log_end_offset
        log.maybe_assign_epoch_start_offset(state.leader_epoch, end_offset, begins=True)
        self._followers = {
            r: self._followers.get(r) or Replica(r)
            for r in self.assigned_replicas
            if r != self.broker_id
        }
        for follower in self._followers.values():
            follower.reset(end_offset, now_ms, in_sync=follower.broker_id in self.isr)
            if not was_leader:
                follower.forget_offsets()
        if not was_leader:
            self.high_watermark.locate()
        if self._trace:
            tp, hw = self.topic_partition, log.high_watermark
            self.role_event = self._trace(
                BecameLeader(
                    topic=tp.topic,
                    partition=tp.partition,
                    leader_epoch=self.leader_epoch,
                    controller_epoch=controller_epoch,
                    start_offset=end_offset,
                    high_watermark=hw,
                    isr=self.isr,
                    replicas=self.assigned_replicas,
                    zk_version=self.isr_state.zk_version,
                    adding_replicas=self.adding_replicas,
                )
            )
        self.first_ack_pending = True
        self.committed_alone = -1
        self.high_watermark.moved_because("new leader epoch")
        with because(self._trace, self.role_event):
            if self._maybe_increment_leader_hw(log, now_ms):
                self._check_and_complete_all()
            else:
                self._delayed.wake_sessions()  # a reader with an older epoch gets an error
        return not was_leader

    def make_follower(self, state: LeaderAndIsrPartitionState, controller_epoch: int) -> bool:
        """Become follower, as the controller demands. Return True if leader or epoch changed.

        If so, the fetcher must start again with truncation.
        """
        changed = self.leader != state.leader or self.leader_epoch != state.leader_epoch
        if self.is_leader:
            alone = self.isr_state.expected == (self.broker_id,)
            self.committed_alone = self.high_watermark.offset if alone else -1
        self.first_append_pending = True
        self.first_ack_pending = False
        self._take_over(state, controller_epoch)
        self.isr_state.take((), state.zk_version)
        self.leader_epoch_start_offset = -1
        self._followers = {}
        if self._trace:
            tp = self.topic_partition
            self.role_event = self._trace(
                BecameFollower(
                    topic=tp.topic,
                    partition=tp.partition,
                    leader=self.leader,
                    leader_epoch=self.leader_epoch,
                    controller_epoch=controller_epoch,
                    log_end_offset=self.log.log_end_offset if self.log else -1,
                    high_watermark=self.high_watermark.offset,
                    replicas=self.assigned_replicas,
                )
            )
        self._delayed.wake_sessions()  # readers with an older epoch get an error
        return changed

    def _take_over(self, state: LeaderAndIsrPartitionState, controller_epoch: int) -> None:
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.controller_epoch = controller_epoch
        self.assigned_replicas = tuple(state.replicas)
        self.adding_replicas = tuple(state.adding_replicas)
        self.version.value += 1

    def delete(self) -> None:
        """Detach the log, which will be deleted. From now on no request can read or write it.

        Waiting requests are woken and find that this broker is not the leader.
        """
        self.log = self.future_log = None
        self.high_watermark.detach()
        self.leader = NO_LEADER
        self.isr_state.take((), -1)
        self._followers = {}
        self.version.value += 1
        self._delayed.check_and_complete_all()

    def _maybe_increment_leader_hw(self, log: Log, now_ms: int) -> bool:
        return self.high_watermark.maybe_increment(
            log,
            self.isr_state.expected,
            self._followers.values(),
            now_ms,
            self.max_lag_ms,
            self.leader_epoch,
        )

    def append_records_to_leader(
        self,
        records: Buffer,
        required_acks: int,
        now_ms: int,
        wall_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> tuple[LogAppendInfo, bool]:
        """Append a producer's records. Return where they are in the log, and whether the HW moved.

        The HW moves at once if the leader is the only member of the ISR. Raises
        NOT_LEADER_OR_FOLLOWER, the errors of the log, and NOT_ENOUGH_REPLICAS for acks=all if the
        ISR has fewer members than min.insync.replicas (then nothing is written). When the caller
        has appended to all partitions of its request, it must wake the waiting requests
        (`wake_after_append`).
        """
        log = self.log
        if log is None or self.leader != self.broker_id:
            raise KafkaException(Errors.NOT_LEADER_OR_FOLLOWER)
        if required_acks == -1 and len(self.isr) < log.config.min_insync_replicas:
            raise KafkaException(
                Errors.NOT_ENOUGH_REPLICAS,
                f"{self.topic_partition} has {len(self.isr)} replicas in sync, min.insync.replicas"
                f" is {log.config.min_insync_replicas}",
            )
        info = log.append_as_leader(records, self.leader_epoch, wall_ms, origin=origin)
        advanced = self._maybe_increment_leader_hw(log, now_ms)
        if advanced:
            self.high_watermark.moved_because("leader alone in ISR")
        trace = self._trace
        if trace is not None and trace.hops:
            tp, hw = self.topic_partition, log.high_watermark
            trace(
                ProduceAppended(
                    topic=tp.topic,
                    partition=tp.partition,
                    leader_epoch=self.leader_epoch,
                    first_offset=info.first_offset,
                    required_offset=info.last_offset + 1,
                    required_acks=required_acks,
                    high_watermark=hw,
                )
            )
        return info, advanced

    def wake_after_append(self, high_watermark_advanced: bool) -> None:
        """Wake the waiting fetches of followers. If the HW moved, wake all waiting requests
        instead.
        """
        if high_watermark_advanced:
            self._check_and_complete_all()
        else:
            self._delayed.check_and_complete_fetch()

    def check_enough_replicas_reach_offset(self, required_offset: int) -> tuple[bool, Errors]:
        """Return (done, error) for an acks=all produce. If done, the produce need not wait.

        The produce is done when the whole ISR has the records below `required_offset`. The error is
        NOT_ENOUGH_REPLICAS_AFTER_APPEND if the ISR has meanwhile shrunk below min.insync.replicas.
        The produce is also done with NOT_LEADER_OR_FOLLOWER if this broker does not lead the
        partition any more.
        """
        log = self.log
        if log is None or self.leader != self.broker_id:
            return True, Errors.NOT_LEADER_OR_FOLLOWER
        if log.high_watermark < required_offset:
            return False, Errors.NONE
        if len(self.isr) < log.config.min_insync_replicas:
            return True, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return True, Errors.NONE

    def wake_session(self, session: WaitingSession) -> None:
        """Wake the waiting fetches of `session` after each change of this partition from now on."""
        self._delayed.add_session(session)

    def update_follower_fetch_state(
        self, follower_id: int, read: LogReadResult, log_start_offset: int, now_ms: int
    ) -> bool:
        """Record a follower's fetch from `read.fetch_offset_metadata`.

        This fetch may let the follower join the ISR, and may move the HW. Returns False if the
        follower is not assigned to the partition. O(replicas).
        """
        follower = self._followers.get(follower_id)
        log = self.log
        if follower is None or log is None:
            return False
        start_moved = log_start_offset > follower.log_start_offset
        follower.update_fetch_state(
            read.fetch_offset_metadata, log_start_offset, now_ms, read.log_end_offset
        )
        if follower_id not in self.isr_state.expected:
            self._maybe_expand_isr(follower, now_ms)
        trace = self._trace
        if trace is not None and trace.hops:
            fetched = self.high_watermark.emit_fetch(
                trace,
                follower_id,
                read.fetch_offset_metadata.message_offset,
                read.log_end_offset,
                high_watermark=log.high_watermark,
                leader_epoch=self.leader_epoch,
                level=Level.HOPS,
            )
            with trace.because(fetched):
                advanced = self._maybe_increment_leader_hw(log, now_ms)
        else:
            advanced = self._maybe_increment_leader_hw(log, now_ms)
        if advanced:
            self.high_watermark.moved_by(follower_id, read.fetch_offset_metadata.message_offset)
            self._check_and_complete_all()
        elif start_moved:
            self._delayed.check_and_complete_delete_records()
        return True

    def emit_high_watermark(self, level: Level) -> int:
        """As the leader, emit the last move of the HW if it is not emitted yet.

        Return the number of the event, or 0.
        """
        hw = self.high_watermark
        if not self.is_leader:
            return hw.event
        return hw.emit_last_move(level, self.leader_epoch, self.role_event)

    def _check_and_complete_all(self) -> None:
        """Make all waiting requests check again. Their events have the last move of the HW as
        cause.
        """
        move = self.high_watermark.event
        if not move:  # usually the move has no event: this saves a context of 0.5 µs
            self._delayed.check_and_complete_all()
            return
        with because(self._trace, move):
            self._delayed.check_and_complete_all()

    def _maybe_expand_isr(self, follower: Replica, now_ms: int) -> None:
        if self.isr_state.may_propose:
            leo, hw = follower.log_end_offset.message_offset, self.high_watermark.offset
            if self._isr_rule.may_join(leo, hw, self.leader_epoch_start_offset):
                self._propose_isr(
                    (*self.isr, follower.broker_id),
                    f"{follower.broker_id} has caught up: LEO {leo}, HW {hw}",
                )

    def maybe_shrink_isr(self, now_ms: int) -> None:
        """Propose an ISR without the followers that lag. O(replicas).

        Called every replica.lag.time.max.ms / 2.
        """
        self.isr_checked_ms = now_ms
        if self.leader != self.broker_id or not self.isr_state.may_propose:
            return
        followers = self._followers.values()
        lagging = self._isr_rule.leaving(self.isr, followers, now_ms, self.max_lag_ms)
        if lagging:
            reasons = "; ".join(
                self._followers[broker_id].lag(now_ms, self.max_lag_ms) for broker_id in lagging
            )
            self._propose_isr(tuple(b for b in self.isr if b not in lagging), reasons)

    def _propose_isr(self, isr: tuple[int, ...], reason: str) -> None:
        self._propose(
            self.isr_state.propose(
                isr, self.broker_id, self.leader_epoch, self.controller_epoch, reason
            )
        )

    def isr_written(self, proposal: IsrProposal, zk_version: int | None, now_ms: int) -> bool:
        """Record ZooKeeper's answer to a proposal. Return whether the ISR changed.

        `zk_version` is the znode's new version, or None if ZooKeeper refused. The HW may move,
        because the slowest member may have left the ISR.
        """
        if not self.isr_state.written(proposal, zk_version):
            return False
        self.version.value += 1
        with because(self._trace, self.isr_state.change_event):
            if self.log is not None and self._maybe_increment_leader_hw(self.log, now_ms):
                self.high_watermark.moved_because("the ISR changed")
                self._check_and_complete_all()
            # even if the HW has not moved, an acks=all request may now fail for lack of replicas
            else:
                self._delayed.check_and_complete_all()
        return True

    def append_records_to_follower(self, fetch_offset: int, records: Buffer, wall_ms: int) -> None:
        """Append the leader's record batches unchanged. `fetch_offset` is the offset of the fetch.

        The caller has checked that `fetch_offset` is still the LEO.
        """
        log = self.local_log()
        assert fetch_offset == log.log_end_offset, (
            self.topic_partition,
            fetch_offset,
            log.log_end_offset,
        )
        if len(records):
            log.append_as_follower(records, wall_ms)

    def update_follower_offsets(
        self, leader_high_watermark: int, leader_log_start_offset: int
    ) -> None:
        """Take over the leader's HW, as far as this log reaches, and the leader's log start.

        Consumers that wait on this broker for the HW are woken.
        """
        log = self.local_log()
        before = log.high_watermark
        high_watermark = self.high_watermark.follow(log, leader_high_watermark, self.leader_epoch)
        if high_watermark != before:
            self._delayed.check_and_complete_fetch()
        if log.log_start_offset < leader_log_start_offset <= high_watermark:
            log.maybe_increment_log_start_offset(leader_log_start_offset)

    def truncate_to(self, offset: int, logs: TruncatesLogs) -> None:
        """Truncate the log to `offset`, or to the start of the batch that contains it.

        If the HW lies above the new log end, it falls too.

        Call this even if no record is to be cut: the epoch cache may hold an epoch that began at
        the log end and has no records. That epoch is removed too.
        """
        try:
            logs.truncate_to({self.topic_partition: offset})
        except OSError as error:
            raise KafkaException(Errors.KAFKA_STORAGE_ERROR, str(error)) from error
        self.high_watermark.truncated()

    def truncate_fully_and_start_at(self, offset: int, logs: TruncatesLogs) -> None:
        """Delete all records. The log is then empty, and its start and end are `offset`."""
        try:
            logs.truncate_fully_and_start_at(self.topic_partition, offset)
        except OSError as error:
            raise KafkaException(Errors.KAFKA_STORAGE_ERROR, str(error)) from error
        self.high_watermark.truncated()

    def wake_all(self) -> None:
        """Make all waiting requests of this partition check again, because its role has changed."""
        self._delayed.check_and_complete_all()

    @property
    def has_followers(self) -> bool:
        """Return whether this broker is the leader and the partition has other replicas."""
        return bool(self._followers)
