"""Exercise 07-1: elect leaders by four strategies. README.md says what is asked;
`kafka-edu lab check 07-1` tries it, `kafka-edu lab hint 07-1` helps.
"""

from collections.abc import Sequence


class LeaderElection:
    """The rule by which the controller elects leaders."""

    def elect(
        self,
        strategy: str,
        replicas: Sequence[int],
        isr: Sequence[int],
        live: Sequence[int],
        going: Sequence[int],
        unclean: bool,
    ) -> tuple[int, list[int]] | None:
        """Return the new leader and the new ISR, or None if nobody may lead."""
        raise NotImplementedError(
            "LeaderElection.elect is not written yet: it returns (leader, isr), or None"
        )
