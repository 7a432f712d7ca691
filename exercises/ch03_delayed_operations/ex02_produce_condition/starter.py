"""Exercise 03-2: write the condition of a produce that waits. README.md says what is asked;
`kafka-edu lab check 03-2` tries it, `kafka-edu lab hint 03-2` helps.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict

Settled = list[tuple[str, str]]  # (partition, name of the error)
Missing = list[tuple[str, int]]  # (partition, how many offsets the HW is below)


class State(TypedDict):
    """The broker's knowledge of a partition at this moment."""

    online: bool  # False: its log dir has failed
    leader: bool  # whether this broker is its leader
    leader_epoch: int
    hw: int
    isr: list[int]
    min_isr: int  # min.insync.replicas


class DelayedProduce:
    """A produce with acks=all, after its records were appended to the leader's log."""

    def __init__(self, appended: Sequence[tuple[str, str, int, int]]) -> None:
        """Each partition of the request is (name, error, required_offset, leader_epoch), as its
        append ended. The error is "NONE" if the append succeeded.
        """
        self.appended = appended

    def look(self, states: Mapping[str, State]) -> tuple[Settled, Missing]:
        """Return the partitions that this look has settled, and those that still wait."""
        raise NotImplementedError(
            "DelayedProduce.look is not written yet: it returns two lists, (settled, missing)"
        )

    def expire(self) -> Settled:
        """The time is up: settle the partitions that still wait, and return them."""
        raise NotImplementedError(
            "DelayedProduce.expire is not written yet: it returns a list of (partition, error)"
        )
