"""Exercise 07-1: elect leaders by four strategies. README.md describes the task.
`kafka-edu lab check 07-1` tests your code. `kafka-edu lab hint 07-1` gives a hint.
"""

from collections.abc import Sequence


class LeaderElection:
    """The rules by which the controller elects the leader of a partition."""

    def elect(
        self,
        strategy: str,
        replicas: Sequence[int],
        isr: Sequence[int],
        live: Sequence[int],
        going: Sequence[int],
        unclean: bool,
    ) -> tuple[int, list[int]] | None:
        """Return the new leader and the new ISR, or None if no broker may lead."""
        raise NotImplementedError(
            "LeaderElection.elect is not written yet: it returns (leader, isr), or None"
        )
