"""The in-sync replicas of a partition, as its leader holds them (Kafka: Partition.inSyncReplicas
and updateIsr; IsrState since 2.7).

The ISR lives in the partition's znode. To change it is a compare-and-set: propose → (shell writes)
→ confirmed, or refused.

    committed --propose--> pending --written--> committed
                              |
                              +--other version--> stale --the controller tells--> committed

- *committed*: `members` is what ZooKeeper has.
- *pending*: either set may be the one that the controller elects from. So the high watermark waits
  for the larger one (`expected`), while min.insync.replicas is held against `members`, which is
  certain. Kafka 2.0 blocks its thread for the write instead, and needs no such state.
- *stale*: the znode has another version: the controller has written it. Nothing is proposed until
  its LeaderAndIsr request comes.
"""

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.isr_store import IsrProposal
from kafka_edu.trace.events.replication import (
    IsrChangeProposed,
    IsrExpanded,
    IsrShrunk,
    IsrWriteFailed,
)
from kafka_edu.trace.tracer import Tracer


class IsrState:
    """Owned by its Partition. Members are in the order of the znode; a new member comes last."""

    __slots__ = (
        "_proposal_told",
        "_topic_partition",
        "_trace",
        "change_told",
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
        self._proposal_told = 0
        self.change_told = 0
        """The number of the last IsrShrunk or IsrExpanded."""

    def told(self, members: tuple[int, ...], zk_version: int) -> None:
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
            self._proposal_told = self._trace(
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
                with self._trace.because(self._proposal_told):
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
            with self._trace.because(self._proposal_told):
                self.change_told = self._trace(
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
