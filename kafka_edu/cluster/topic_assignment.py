"""The replicas of a topic's partitions, also during a reassignment (Kafka: ReplicaAssignment of
ControllerContext.scala; KIP-455).

    origin   (ORS)   the replicas when the reassignment begins
    target   (TRS)   the replicas when it is complete
    replicas (RS)    the target, followed by the origin's replicas that are not in the target
    adding   (AR)    RS without ORS
    removing (RR)    RS without TRS

An example:

    1,2,3                 no reassignment: ORS = TRS = RS
    1,2,3 → 3,4,5         RS 3,4,5,1,2   AR 4,5   RR 1,2
    new target 1,2,6      RS 1,2,6,3     AR 6     RR 3
    or a cancellation     RS 3,1,2       AR -     RR -

With the new target 1,2,6, brokers 4 and 5 are in no set any more, so they stop at once. After a
cancellation the origin's replicas are back, but perhaps in a different order.

All functions are pure. Each is O(replicas²), and a partition has only a few replicas.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class ReplicaAssignment(NamedTuple):
    """The replicas of one partition, and during a reassignment the added and removed replicas."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()

    @property
    def target_replicas(self) -> tuple[int, ...]:
        return tuple(r for r in self.replicas if r not in self.removing_replicas)

    @property
    def origin_replicas(self) -> tuple[int, ...]:
        return tuple(r for r in self.replicas if r not in self.adding_replicas)

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding_replicas or self.removing_replicas)

    def reassign_to(self, target: Sequence[int]) -> "ReplicaAssignment":
        """Return the assignment during a reassignment to the brokers `target`.

        If a reassignment is running already, the new reassignment replaces it. The origin stays the
        same.
        """
        origin = self.origin_replicas
        replicas = (*target, *(r for r in origin if r not in target))
        return ReplicaAssignment(
            replicas,
            tuple(r for r in replicas if r not in origin),
            tuple(r for r in replicas if r not in target),
        )

    def remove_replica(self, replica: int) -> "ReplicaAssignment":
        return ReplicaAssignment(*(tuple(r for r in brokers if r != replica) for brokers in self))


class TopicAssignment(NamedTuple):
    """The contents of a topic's znode."""

    topic_id: uuid.UUID | None
    partitions: Mapping[int, ReplicaAssignment]

    @classmethod
    def of(
        cls, replicas: Mapping[int, Sequence[int]], topic_id: uuid.UUID | None = None
    ) -> "TopicAssignment":
        """Return the assignment of a new topic. `replicas` is partition → brokers.

        The result contains no reassignment.
        """
        return cls(
            topic_id,
            {
                number: ReplicaAssignment(tuple(brokers))
                for number, brokers in sorted(replicas.items())
            },
        )
