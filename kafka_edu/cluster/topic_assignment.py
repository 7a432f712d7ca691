"""Which brokers hold a topic's partitions, and which are coming and going (Kafka: ReplicaAssignment
of ControllerContext.scala; KIP-455).

    origin (ORS)   who holds the partition when a reassignment begins        replicas (RS) = target,
    then those of the origin that go
    target (TRS)   who shall hold it when it is over                         adding   (AR) = RS
    without ORS
                                                                             removing (RR) = RS
                                                                             without TRS

    1,2,3                              at rest: ORS = TRS = RS
    1,2,3 → 3,4,5                      RS 3,4,5,1,2   AR 4,5   RR 1,2
    … another target, 1,2,6            RS 1,2,6,3     AR 6     RR 3       4 and 5 are in no set any
    more: they stop at once
    … or cancelled                     RS 3,1,2       AR -     RR -       all who held it hold it
    again; their order may be another than before

Pure; each is O(replicas²), of a handful of replicas.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class ReplicaAssignment(NamedTuple):
    """The brokers that hold a partition; while it is being reassigned, also those that come and
    go.
    """

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
        """On the way to `target`, from where it was before any way was begun."""
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
    """What a topic's znode holds."""

    topic_id: uuid.UUID | None
    partitions: Mapping[int, ReplicaAssignment]

    @classmethod
    def of(
        cls, replicas: Mapping[int, Sequence[int]], topic_id: uuid.UUID | None = None
    ) -> "TopicAssignment":
        """A topic as it is created: partition → brokers, none coming or going."""
        return cls(
            topic_id,
            {
                number: ReplicaAssignment(tuple(brokers))
                for number, brokers in sorted(replicas.items())
            },
        )
