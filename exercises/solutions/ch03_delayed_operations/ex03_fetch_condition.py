"""Exercise 03-3: the reference solution."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

Place = tuple[int, int, int]  # (offset, base offset of its segment, byte in that segment)
Wanted = tuple[str, Place, int, int]  # (partition, where the reader stands, max_bytes, epoch)


class State(TypedDict):
    """A partition as the broker knows it at this moment."""

    replica: bool  # False: the replica was moved away from this broker
    online: bool  # False: its log dir has failed
    leader: bool  # whether this broker is its leader
    leader_epoch: int
    end: Place  # the end up to which this reader may read
    diverging: bool  # the reader's log and ours differ before its offset
    throttled: bool  # the reader is a follower, and it has used up its share


class DelayedFetch:
    """A fetch request that waits because its first read found too few bytes."""

    def __init__(self, min_bytes: int, wanted: Sequence[Wanted]) -> None:
        self.min_bytes = min_bytes
        self.wanted = wanted

    def look(self, states: Mapping[str, State]) -> tuple[str, str | int]:
        """Return the letter of the case that ends the wait, and its partition (for G: the bytes).
        If no case ends the wait, return "wait" and how many bytes are missing.
        """
        available = 0
        for name, place, max_bytes, epoch in self.wanted:
            state = states.get(name)
            case = self.case_of(state, place, epoch)
            if case:
                return case, name
            if state is not None and not state["throttled"]:
                available += min(self.bytes_between(place, state["end"]), max_bytes)
        if available >= self.min_bytes:
            return "G", available
        return "wait", self.min_bytes - available

    def case_of(self, state: State | None, place: Place, epoch: int) -> str:
        """Return the letter of the case by which this partition ends the wait; empty if none."""
        if state is None:
            return "C"
        if not state["replica"]:
            return "B"
        if not state["online"]:
            return "D"
        if not state["leader"]:
            return "A"
        if state["leader_epoch"] != epoch:
            return "E"
        offset, segment, _ = place
        end_offset, end_segment, _ = state["end"]
        if offset != end_offset:
            if end_segment < segment:
                return "F"  # truncated
            if segment < end_segment and not state["throttled"]:
                return "F"  # far behind
        return "H" if state["diverging"] else ""

    def bytes_between(self, place: Place, end: Place) -> int:
        """Return how many bytes lie from `place` to `end`; 0 unless both are in one segment."""
        return end[2] - place[2] if place[0] < end[0] and place[1] == end[1] else 0
