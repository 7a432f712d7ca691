"""Exercise 03-2: write the condition of a produce that waits. README.md describes the task. Check
with `kafka-edu lab check 03-2`. `kafka-edu lab hint 03-2` gives a hint.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict

Settled = list[tuple[str, str]]  # (partition, name of the error)
Missing = list[tuple[str, int]]  # (partition, how many offsets the HW is below)


class State(TypedDict):
    """A partition as the broker knows it at this moment."""

    online: bool  # False: its log dir has failed
    leader: bool  # whether this broker is its leader
    leader_epoch: int
    hw: int
    isr: list[int]
    min_isr: int  # min.insync.replicas


class DelayedProduce:
    """A produce with acks=all that waits, after its records were appended to the leader's log."""

    def __init__(self, appended: Sequence[tuple[str, str, int, int]]) -> None:
        """`appended` has (name, error, required_offset, leader_epoch) for each partition of the
        request. The error is "NONE" if the append to the log succeeded.
        """
        self.appended = appended

    def look(self, states: Mapping[str, State]) -> tuple[Settled, Missing]:
        """Return the partitions that this call has settled, and those that still wait."""
        raise NotImplementedError(
            "DelayedProduce.look is not written yet: it returns two lists, (settled, missing)"
        )

    def expire(self) -> Settled:
        """The time-out has come: settle the partitions that still wait, and return them."""
        raise NotImplementedError(
            "DelayedProduce.expire is not written yet: it returns a list of (partition, error)"
        )
