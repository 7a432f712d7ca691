"""Exercise 07-2: who is in sync? README.md describes the task. `kafka-edu lab check 07-2` tests
your code. `kafka-edu lab hint 07-2` gives a hint.
"""

from collections.abc import Sequence


class Isr:
    """The rules by which a leader removes followers from the ISR and lets them join again."""

    def leaving(
        self,
        isr: Sequence[int],
        followers: Sequence[tuple[int, int]],
        now_ms: int,
        max_lag_ms: int,
    ) -> list[int]:
        """Return the ids of the followers in the ISR that must leave it now."""
        raise NotImplementedError("Isr.leaving is not written yet: it returns a list of brokers")

    def may_join(self, leo: int, hw: int, epoch_start: int) -> bool:
        """Return whether a follower whose log ends at offset `leo` may join the ISR."""
        raise NotImplementedError("Isr.may_join is not written yet: it returns True or False")
