"""Compute the right answers of exercise 10-2 with the leader's own selector."""

from typing import NamedTuple

from kafka_edu.replication.replica_selector import (
    ClientMetadata,
    RackAwareReplicaSelector,
    ReplicaView,
)

SELECTOR = RackAwareReplicaSelector()


class Near(NamedTuple):
    """A follower that has the records that the consumer wants next."""

    broker: int
    rack: str | None
    leo: int
    lag_ms: int


class Choice(NamedTuple):
    """A leader's knowledge when a consumer's fetch arrives."""

    client_rack: str
    leader: int
    leader_rack: str | None
    followers: tuple[Near, ...]

    def arguments(self) -> list[object]:
        """Return the choice as the list of arguments for the learner's `select`."""
        rows = [list(one) for one in self.followers]
        return [self.client_rack, self.leader, self.leader_rack, rows]


def right(choice: Choice) -> int:
    """Return the broker from which the consumer has to read."""
    leader = ReplicaView(choice.leader, choice.leader_rack, 1 << 40, 0)
    followers = [ReplicaView(*one) for one in choice.followers]
    client = ClientMetadata(choice.client_rack, "lab", "PLAINTEXT")
    return SELECTOR.select(client, followers, leader).broker_id
