"""The leader of a partition and its in-sync replicas.

Kafka: LeaderAndIsr.scala, LeaderIsrAndControllerEpoch.scala.
"""

from typing import Final, NamedTuple

NO_LEADER: Final = -1
LEADER_DURING_DELETE: Final = -2
NO_EPOCH: Final = -1
EPOCH_DURING_DELETE: Final = -2
INITIAL_LEADER_EPOCH: Final = 0
INITIAL_ZK_VERSION: Final = 0


class LeaderAndIsr(NamedTuple):
    """The contents of a partition's state znode, and the version of the znode.

    Every change is a compare-and-set on the znode's version. KIP-101 explains the leader epoch.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int

    def with_leader(self, leader: int, isr: tuple[int, ...]) -> "LeaderAndIsr":
        """Return a copy of this state with a new leader and a new ISR.

        The leader epoch of the copy is higher by one.
        """
        return LeaderAndIsr(leader, self.leader_epoch + 1, isr, self.zk_version)


class LeaderIsrAndControllerEpoch(NamedTuple):
    leader_and_isr: LeaderAndIsr
    controller_epoch: int
