"""Exercise 10-2: choose where a consumer reads. README.md describes the task. `kafka-edu lab check
10-2` tests your code. `kafka-edu lab hint 10-2` gives a hint.
"""

from collections.abc import Sequence

Follower = tuple[int, str | None, int, int]  # (broker, rack, leo, lag_ms)


class ReplicaSelector:
    """The rule by which a leader chooses the replica for a consumer."""

    def select(
        self,
        client_rack: str,
        leader: int,
        leader_rack: str | None,
        followers: Sequence[Follower],
    ) -> int:
        """Return the number of the broker from which the consumer has to read."""
        raise NotImplementedError(
            "ReplicaSelector.select is not written yet: it returns a broker's number"
        )
