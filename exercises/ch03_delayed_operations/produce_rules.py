"""The rules of exercise 03-2: when a produce with acks=all is answered and why, and a picture."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors

NONE: Final = Errors.NONE.name
TIMED_OUT: Final = Errors.REQUEST_TIMED_OUT.name
DRAWN_OFFSETS: Final = 8


class Appended(NamedTuple):
    """The result of appending the records of one partition."""

    name: str
    error: str
    required_offset: int
    leader_epoch: int


class State(NamedTuple):
    """A partition as the broker knows it at one moment."""

    online: bool = True
    leader: bool = True
    leader_epoch: int = 3
    hw: int = 5
    isr: tuple[int, ...] = (1, 2, 3)
    min_isr: int = 2

    def says(self) -> str:
        """Return the state as text."""
        if not self.online:
            return "its log dir has failed"
        role = "leader" if self.leader else "not the leader"
        return (
            f"{role}, epoch {self.leader_epoch}, HW {self.hw}, ISR {len(self.isr)}"
            f" (min.insync.replicas {self.min_isr})"
        )


class End(NamedTuple):
    """The result for one partition: the name of an error, or the number of missing offsets; and the
    reason.
    """

    answer: str | int
    why: str


def end_of(appended: Appended, state: State | None) -> End:
    """Return the result for one waiting partition."""
    name, error, required, epoch = appended
    if error != NONE:
        return End(error, f"the append to {name} failed, so there is nothing to wait for")
    if state is None:
        return End(
            Errors.UNKNOWN_TOPIC_OR_PARTITION.name,
            f"{name} is not among the partitions that the broker knows: it was deleted",
        )
    if not state.online:
        return End(Errors.KAFKA_STORAGE_ERROR.name, f"the disk of {name} failed, whatever else is")
    if not state.leader:
        return End(
            Errors.NOT_LEADER_OR_FOLLOWER.name,
            f"another broker leads {name} now, so this one will never learn of the followers",
        )
    if state.leader_epoch != epoch:
        return End(
            Errors.NOT_LEADER_OR_FOLLOWER.name,
            f"the records of {name} were written in epoch {epoch}, and it is {state.leader_epoch}"
            " now: while another broker led, they may have been truncated",
        )
    if state.hw < required:
        return End(
            required - state.hw,
            f"the HW of {name} is {state.hw}, and {required} is required. The ISR, whatever its"
            " size, does not have all of the records yet",
        )
    if len(state.isr) < state.min_isr:
        return End(
            Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND.name,
            f"the HW of {name} has reached {required}, but only {len(state.isr)} in the ISR have"
            f" the records, and min.insync.replicas is {state.min_isr}",
        )
    return End(NONE, f"the HW of {name} has reached {required}: all of the ISR have the records")


class RightProduce:
    """A correct DelayedProduce. It returns the right answers for one request."""

    def __init__(self, appended: Sequence[Appended]) -> None:
        self.appended = tuple(appended)
        self.settled: dict[str, str] = {}

    def look(self, states: Mapping[str, State]) -> tuple[dict[str, End], dict[str, End]]:
        """Return the partitions settled by this call, and those that still wait, in order."""
        settled: dict[str, End] = {}
        missing: dict[str, End] = {}
        for one in self.appended:
            if one.name not in self.settled:
                end = end_of(one, states.get(one.name))
                if isinstance(end.answer, str):
                    settled[one.name] = end
                    self.settled[one.name] = end.answer
                else:
                    missing[one.name] = end
        return settled, missing

    def expire(self) -> list[tuple[str, str]]:
        """Settle all waiting partitions at the time-out, and return them."""
        left = [one for one in self.appended if one.name not in self.settled]
        ends = [(one.name, TIMED_OUT if one.error == NONE else one.error) for one in left]
        self.settled.update(ends)
        return ends


def draw(appended: Appended, state: State | None, expected: str, came: str) -> tuple[str, ...]:
    """Return a picture of the leader's log with its HW, and of the two answers `expected` and
    `came`.
    """
    name, error, required, epoch = appended
    lines = [f"{name}: needs HW {required}, written in epoch {epoch}"]
    if error != NONE:
        lines = [f"{name}: its append ended with {error}"]
    elif state is None:
        lines.append("  now: unknown")
    else:
        lines.append(f"  now: {state.says()}")
        begin = max(0, min(required, state.hw) - DRAWN_OFFSETS // 2)
        end = max(required, min(state.hw, begin + DRAWN_OFFSETS))
        cells = "".join(
            f"{'┃' if offset == state.hw else ' '}{offset}" for offset in range(begin, end)
        )
        tail = "┃" if state.hw == end else ""
        lines.append(f"  log{' …' if begin else ''}{cells}{tail}   ┃ HW: all of the ISR have these")
    lines += [f"  ✓ expected: {expected}", f"  ✗ came:     {came}"]
    return tuple(lines)
