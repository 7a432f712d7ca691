"""Exercise 03-3: write the condition of a fetch that waits. README.md describes the task. Check
with `kafka-edu lab check 03-3`. `kafka-edu lab hint 03-3` gives a hint.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict

Place = tuple[int, int, int]  # (offset, base offset of its segment, byte in that segment)
Wanted = tuple[str, Place, int, int]  # (partition, where the reader stands, max_bytes, epoch)


class State(TypedDict):
    """A partition as the broker knows it at this moment."""

    replica: bool  # False: the replica was moved away from this broker
    online: bool  # False: its log dir has failed
    leader: bool  # whether this broker is the leader of the partition
    leader_epoch: int
    end: Place  # the end up to which this reader may read
    diverging: bool  # the reader's log and ours differ before its offset
    throttled: bool  # the reader is a follower that has used up its rate limit


class DelayedFetch:
    """A fetch that waits, because its first read found too few bytes."""

    def __init__(self, min_bytes: int, wanted: Sequence[Wanted]) -> None:
        self.min_bytes = min_bytes
        self.wanted = wanted

    def look(self, states: Mapping[str, State]) -> tuple[str, str | int]:
        """Return the letter of the case that ends the wait, and the name of its partition (for case
        G, the number of bytes instead). If no case ends the wait, return "wait" and the number of
        missing bytes.
        """
        raise NotImplementedError(
            'DelayedFetch.look is not written yet: it returns (case, partition), ("G", bytes) or'
            ' ("wait", missing bytes)'
        )
