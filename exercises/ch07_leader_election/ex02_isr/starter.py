"""Exercise 07-2: who is in sync. README.md says what is asked; `kafka-edu lab check 07-2` tries it,
`kafka-edu lab hint 07-2` helps.
"""

from collections.abc import Sequence


class Isr:
    """The rules by which a leader keeps its ISR."""

    def leaving(
        self,
        isr: Sequence[int],
        followers: Sequence[tuple[int, int]],
        now_ms: int,
        max_lag_ms: int,
    ) -> list[int]:
        """Return the members that leave."""
        raise NotImplementedError("Isr.leaving is not written yet: it returns a list of brokers")

    def may_join(self, leo: int, hw: int, epoch_start: int) -> bool:
        """Return whether a follower whose log ends at `leo` may join."""
        raise NotImplementedError("Isr.may_join is not written yet: it returns True or False")
