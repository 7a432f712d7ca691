"""The in-sync replicas of a partition: who belongs to them, and how their leader changes them
(Kafka: parts of Partition.scala, inSyncReplicas and updateIsr; IsrState since 2.7; book 001).

    out_of_sync_replicas     A replica leaves the ISR when it has not caught up for longer than
                             replica.lag.time.max.ms (exactly 10 s is not longer than 10 s).
    may_join_isr             A replica joins the ISR when it has all committed records, and all
                             records from before the first offset of this leader's epoch.

The ISR lives in the partition's znode. To change it is a compare-and-set: propose → (`isr_writer`
writes) → confirmed, or refused.

    committed --propose--> pending --written--> committed
                              |
                              +--other version--> stale --LeaderAndIsr--> committed

- *committed*: `members` is what ZooKeeper has.
- *pending*: either set may be the one that the controller elects from. So the high watermark waits
  for the larger one (`expected`), while min.insync.replicas is held against `members`, which is
  certain. Kafka 2.0 blocks its thread for the write instead, and needs no such state.
- *stale*: the znode has another version: the controller has written it. Nothing is proposed until
  its LeaderAndIsr request comes.

The rules change nothing and are O(replicas); `Partition` acts on their results.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.replica import Replica
from kafka_edu.trace.events.replication import (
    IsrChangeProposed,
    IsrExpanded,
    IsrShrunk,
    IsrWriteFailed,
)
from kafka_edu.trace.tracer import Tracer


def out_of_sync_replicas(
    isr: Iterable[int], followers: Iterable[Replica], now_ms: int, max_lag_ms: int
) -> tuple[int, ...]:
    """Return the members of `isr` among `followers` that last caught up more than `max_lag_ms` ago.

    Example with 10,000 ms and a check every 5,000 ms: a follower that stops at 0 is still in at
    10,000 and out at 15,000. One rule covers both kinds of trouble. A stuck follower fetches no
    more. A slow one fetches, but never from the end.
    """
    members = set(isr)
    return tuple(
        f.broker_id
        for f in followers
        if f.broker_id in members and now_ms - f.last_caught_up_time_ms > max_lag_ms
    )


def may_join_isr(log_end_offset: int, high_watermark: int, leader_epoch_start_offset: int) -> bool:
    """Return whether a follower with this LEO may join the ISR.

    It must have all committed records, or the high watermark would fall. And it must have reached
    this leader's first offset. Before that, its tail may be an older leader's and due for
    truncation, and the high watermark here may be lower than what was committed then (KAFKA-6361).
    """
    return log_end_offset >= high_watermark and log_end_offset >= leader_epoch_start_offset


class IsrRule:
    """The rule by which followers leave the ISR and join it. It keeps no state."""

    def leaving(
        self, isr: Iterable[int], followers: Iterable[Replica], now_ms: int, max_lag_ms: int
    ) -> tuple[int, ...]:
        """Return the members that leave: `out_of_sync_replicas`."""
        return out_of_sync_replicas(isr, followers, now_ms, max_lag_ms)

    def may_join(
        self, log_end_offset: int, high_watermark: int, leader_epoch_start_offset: int
    ) -> bool:
        """Return whether a follower joins: `may_join_isr`."""
        return may_join_isr(log_end_offset, high_watermark, leader_epoch_start_offset)


class IsrProposal(NamedTuple):
    """An ISR to be written. The znode must still have the version
    `state.leader_and_isr.zk_version`.
    """

    topic_partition: TopicPartition
    state: LeaderIsrAndControllerEpoch
    before: tuple[int, ...]
    reason: str

    @property
    def after(self) -> tuple[int, ...]:
        return self.state.leader_and_isr.isr


class IsrState:
    """Owned by its Partition. Members are in the order of the znode; a new member comes last."""

    __slots__ = (
        "_proposal_event",
        "_topic_partition",
        "_trace",
        "change_event",
        "expected",
        "members",
        "proposal",
        "stale",
        "zk_version",
    )

    def __init__(self, topic_partition: TopicPartition, trace: Tracer | None) -> None:
        self._topic_partition = topic_partition
        self._trace = trace
        self.members: tuple[int, ...] = ()
        self.expected: tuple[int, ...] = ()
        """The members, and the replicas that would join by the proposal."""
        self.zk_version = 0
        self.proposal: IsrProposal | None = None
        self.stale = False
        self._proposal_event = 0
        self.change_event = 0
        """The number of the last IsrShrunk or IsrExpanded."""

    def take(self, members: tuple[int, ...], zk_version: int) -> None:
        """Take the ISR from the controller; empty on a follower, which needs none. A proposal under
        way is forgotten.
        """
        self.members = self.expected = members
        self.zk_version = zk_version
        self.proposal = None
        self.stale = False

    @property
    def may_propose(self) -> bool:
        return self.proposal is None and not self.stale

    def propose(
        self,
        members: tuple[int, ...],
        leader: int,
        leader_epoch: int,
        controller_epoch: int,
        reason: str,
    ) -> IsrProposal:
        """Propose another ISR. The caller hands the proposal to the shell."""
        wanted = LeaderIsrAndControllerEpoch(
            LeaderAndIsr(leader, leader_epoch, members, self.zk_version), controller_epoch
        )
        self.proposal = proposal = IsrProposal(self._topic_partition, wanted, self.members, reason)
        self.expected = (*self.members, *(b for b in members if b not in self.members))
        if self._trace:
            tp = self._topic_partition
            self._proposal_event = self._trace(
                IsrChangeProposed(
                    topic=tp.topic,
                    partition=tp.partition,
                    leader_epoch=leader_epoch,
                    before=self.members,
                    after=members,
                    zk_version=self.zk_version,
                    reason=reason,
                )
            )
        return proposal

    def written(self, proposal: IsrProposal, zk_version: int | None) -> bool:
        """Take ZooKeeper's answer: the znode's new version, or None if it had another than
        expected. Return whether the ISR changed.

        An answer to an older proposal changes nothing: the controller has sent a newer ISR since.
        """
        if proposal is not self.proposal:
            return False
        self.proposal = None
        tp, epoch = self._topic_partition, proposal.state.leader_and_isr.leader_epoch
        if zk_version is None:
            self.stale = True  # `expected` stays the larger set: which one holds is not known
            if self._trace:
                with self._trace.because(self._proposal_event):
                    self._trace(
                        IsrWriteFailed(
                            topic=tp.topic,
                            partition=tp.partition,
                            leader_epoch=epoch,
                            wanted=proposal.after,
                            zk_version=self.zk_version,
                        )
                    )
            return False
        self.members = self.expected = proposal.after
        self.zk_version = zk_version
        if self._trace:
            change = IsrShrunk if len(proposal.after) < len(proposal.before) else IsrExpanded
            with self._trace.because(self._proposal_event):
                self.change_event = self._trace(
                    change(
                        topic=tp.topic,
                        partition=tp.partition,
                        leader_epoch=epoch,
                        before=proposal.before,
                        after=proposal.after,
                        zk_version=zk_version,
                        reason=proposal.reason,
                    )
                )
        return True
