"""The rules of exercise 03-3: when and why a waiting fetch is answered. The module also draws the
log.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

BOX: Final = 26


class Place(NamedTuple):
    """A place in a log: offset, segment, and byte in the segment."""

    offset: int
    segment: int
    """The base offset of the segment."""
    position: int
    """The position in the segment, in bytes."""

    def says(self) -> str:
        return f"offset {self.offset}, segment {self.segment}, byte {self.position:,}"


class Wanted(NamedTuple):
    """One partition of the fetch: its name, the reader's place, and its limits."""

    name: str
    place: Place
    max_bytes: int
    epoch: int


class State(NamedTuple):
    """A partition as the broker knows it at one moment."""

    end: Place
    leader_epoch: int = 3
    replica: bool = True
    online: bool = True
    leader: bool = True
    diverging: bool = False
    throttled: bool = False


class End(NamedTuple):
    """A partition's result, and the reason for it. The result is the case that ends the wait, or
    the number of bytes that the partition has.
    """

    case: str
    size: int
    why: str


def end_of(wanted: Wanted, state: State | None) -> End:
    """Return the result for one partition."""
    name, place, max_bytes, epoch = wanted
    if state is None:
        return End("C", 0, f"the broker does not know {name} any more: it was deleted")
    if not state.replica:
        return End("B", 0, f"the replica of {name} was moved away from this broker")
    if not state.online:
        return End("D", 0, f"the log dir of {name} has failed")
    if not state.leader:
        return End("A", 0, f"another broker leads {name} now")
    if state.leader_epoch != epoch:
        return End(
            "E",
            0,
            f"the reader knows epoch {epoch} of {name}, and this broker leads in epoch"
            f" {state.leader_epoch}",
        )
    end = state.end
    size, why = 0, f"the reader of {name} stands at its end"
    if place.offset != end.offset:
        if end.segment < place.segment:
            return End(
                "F",
                0,
                f"the log of {name} was truncated: it ends in segment {end.segment}, before the"
                f" reader's segment {place.segment}",
            )
        if place.segment < end.segment:
            if not state.throttled:
                return End(
                    "F",
                    0,
                    f"the reader of {name} is in segment {place.segment}, and the end in"
                    f" {end.segment}: it is so far behind that there is enough for it",
                )
            why = f"the reader of {name} is throttled: that it is far behind does not count"
        elif place.offset < end.offset:
            there = end.position - place.position
            size = min(there, max_bytes)
            why = f"{name} has {end.position:,} - {place.position:,} = {there:,} bytes"
            if size < there:
                why += f", of which max_bytes lets {max_bytes:,} count"
            if state.throttled:
                size = 0
                why = f"the reader of {name} is throttled: its bytes do not count"
        else:
            why = f"the log of {name} ends before the reader: truncated, in the same segment"
    elif place.segment != end.segment:
        why = f"{name} has just rolled: the reader stands at its end, in whichever segment"
    if state.diverging:
        return End("H", 0, f"the logs of {name} differ: the follower must truncate its own")
    return End("", size, why)


def right_answer(
    min_bytes: int, wanted: Sequence[Wanted], states: Mapping[str, State]
) -> tuple[str, str | int]:
    """Return the right answer of `look`."""
    size = 0
    for one in wanted:
        end = end_of(one, states.get(one.name))
        if end.case:
            return end.case, one.name
        size += end.size
    return ("G", size) if size >= min_bytes else ("wait", min_bytes - size)


def why(
    min_bytes: int, wanted: Sequence[Wanted], states: Mapping[str, State]
) -> tuple[str, Wanted | None]:
    """Return why this answer is right, and the partition that decides. If all partitions together
    decide, return None instead of a partition.
    """
    ends = [(one, end_of(one, states.get(one.name))) for one in wanted]
    for one, end in ends:
        if end.case:
            return end.why, one
    parts = "; ".join(end.why for _, end in ends)
    total = sum(end.size for _, end in ends)
    return f"{parts}. Together {total:,}, and the fetch wants {min_bytes:,}", None


def draw(wanted: Wanted, state: State | None) -> tuple[str, ...]:
    """Draw the segments of a partition's log. The reader is marked ▼, and the end is marked ▲."""
    lines = [f"{wanted.name}: the reader ▼ is at {wanted.place.says()}"]
    if state is None:
        return (*lines, "  unknown to this broker")
    lines.append(f"{' ' * len(wanted.name)}  the end    ▲ is at {state.end.says()}")
    marks = [
        word
        for word, holds in (
            ("no replica here", not state.replica),
            ("log dir failed", not state.online),
            ("not the leader", not state.leader),
            (f"epoch {state.leader_epoch}, the reader's is {wanted.epoch}", True),
            ("diverging", state.diverging),
            ("throttled", state.throttled),
        )
        if holds
    ]
    bases = sorted({wanted.place.segment, state.end.segment})
    last = max(wanted.place.offset, state.end.offset)
    row = ""
    for number, base in enumerate(bases):
        limit = bases[number + 1] if number + 1 < len(bases) else last + 1
        cells = list(f"segment {base} ".ljust(BOX, "─"))
        for sign, place in (("▼", wanted.place), ("▲", state.end)):
            if place.segment == base:
                share = (place.offset - base) / max(limit - base, 1)
                index = min(BOX - 1, max(len(f"segment {base} "), int(share * BOX)))
                cells[index] = "◆" if cells[index] == "▼" else sign
        row += f"├{''.join(cells)}"
    lines.append(f"  {row}┤  {'◆ both' if '◆' in row else ''}".rstrip())
    return (*lines, f"  {', '.join(marks)}")
