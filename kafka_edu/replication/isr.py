"""The in-sync replicas (ISR) of a partition: which replicas belong to the ISR, and how the leader
changes it (Kafka: parts of Partition.scala, inSyncReplicas and updateIsr; IsrState since 2.7; book
001).

    out_of_sync_replicas     A replica leaves the ISR when it has not caught up for longer than
                             replica.lag.time.max.ms (exactly 10 s is not longer than 10 s).
    may_join_isr             A replica joins the ISR when it has all committed records, and all
                             records from before the first offset of this leader's epoch.

The ISR is stored in the partition's znode. The leader changes it by compare-and-set: propose →
(`isr_writer` writes) → confirmed, or refused.

    committed --propose--> pending --written--> committed
                              |
                              +--other version--> stale --LeaderAndIsr--> committed

- *committed*: `members` is the ISR in ZooKeeper.
- *pending*: the controller may read the old or the proposed ISR from ZooKeeper, and elect a leader
  from it. So the high watermark waits for the replicas of both (`expected`). But `members`, the old
  ISR, must have at least min.insync.replicas members. Kafka 2.0 blocks its thread during the write
  and so has no such state.
- *stale*: the znode has a different version, because the controller has written it. The leader
  proposes nothing until the controller's LeaderAndIsr request comes.

The rules change no state and are O(replicas); `Partition` acts on their results.
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
    """Return the members of `isr` that last caught up more than `max_lag_ms` ago.

    Example with 10,000 ms and a check every 5,000 ms: a follower stops at 0. It is still in the ISR
    after the check at 10,000 and leaves at 15,000. This one rule finds two kinds of followers. A
    stuck follower does not fetch any more. A slow follower fetches but never reaches the leader's
    log end.
    """
    members = set(isr)
    return tuple(
        f.broker_id
        for f in followers
        if f.broker_id in members and now_ms - f.last_caught_up_time_ms > max_lag_ms
    )


def may_join_isr(log_end_offset: int, high_watermark: int, leader_epoch_start_offset: int) -> bool:
    """Return whether a follower with this LEO may join the ISR.

    The follower must have all committed records, because otherwise the high watermark would fall.
    It must also have reached the first offset of this leader's epoch. Before that point, the end of
    its log may come from an older leader and be truncated later. Also, the new leader's high
    watermark may still be lower than the older leader's high watermark was (KAFKA-6361).
    """
    return log_end_offset >= high_watermark and log_end_offset >= leader_epoch_start_offset


class IsrRule:
    """The rule by which followers leave and join the ISR. It keeps no state."""

    def leaving(
        self, isr: Iterable[int], followers: Iterable[Replica], now_ms: int, max_lag_ms: int
    ) -> tuple[int, ...]:
        """Return the members that must leave the ISR (see `out_of_sync_replicas`)."""
        return out_of_sync_replicas(isr, followers, now_ms, max_lag_ms)

    def may_join(
        self, log_end_offset: int, high_watermark: int, leader_epoch_start_offset: int
    ) -> bool:
        """Return whether a follower may join the ISR (see `may_join_isr`)."""
        return may_join_isr(log_end_offset, high_watermark, leader_epoch_start_offset)


class IsrProposal(NamedTuple):
    """A new ISR to be written to ZooKeeper.

    It is written only if the znode still has the version `state.leader_and_isr.zk_version`.
    """

    topic_partition: TopicPartition
    state: LeaderIsrAndControllerEpoch
    before: tuple[int, ...]
    reason: str

    @property
    def after(self) -> tuple[int, ...]:
        return self.state.leader_and_isr.isr


class IsrState:
    """The ISR of one partition and the change that is under way. Owned by its Partition.

    Members are in the order of the znode; a new member comes last.
    """

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
        """The ISR members, and the replicas that join if the pending proposal is written."""
        self.zk_version = 0
        self.proposal: IsrProposal | None = None
        self.stale = False
        self._proposal_event = 0
        self.change_event = 0
        """The number of the last IsrShrunk or IsrExpanded event."""

    def take(self, members: tuple[int, ...], zk_version: int) -> None:
        """Take over the ISR that the controller has sent, and drop a proposal under way.

        `members` is empty on a follower, which needs no ISR.
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
        """Propose a new ISR. The caller gives the returned proposal to the `IsrWriter`."""
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
        """Record ZooKeeper's answer to a proposal. Return whether the ISR changed.

        `zk_version` is the new version of the znode, or None if the znode had a different version
        than expected. An answer to an older proposal changes nothing, because the controller has
        sent a newer ISR since.
        """
        if proposal is not self.proposal:
            return False
        self.proposal = None
        tp, epoch = self._topic_partition, proposal.state.leader_and_isr.leader_epoch
        if zk_version is None:
            self.stale = True  # `expected` stays the larger set: which ISR is valid is unknown
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
