"""Exercise 10-2: the reference solution (Kafka: RackAwareReplicaSelector, ReplicaView)."""

from collections.abc import Sequence

Follower = tuple[int, str | None, int, int]


class ReplicaSelector:
    """The rule by which a leader chooses the replica for a consumer."""

    def select(
        self,
        client_rack: str,
        leader: int,
        leader_rack: str | None,
        followers: Sequence[Follower],
    ) -> int:
        """Return the leader, or the best follower in the consumer's rack."""
        if not client_rack or leader_rack == client_rack:
            return leader
        near = [
            (leo, -lag_ms, broker) for broker, rack, leo, lag_ms in followers if rack == client_rack
        ]
        return max(near)[2] if near else leader
