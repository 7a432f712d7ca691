"""Exercise 03-2: the reference solution."""

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
    """A produce request with acks=all, after its records were appended to the leader's log."""

    def __init__(self, appended: Sequence[tuple[str, str, int, int]]) -> None:
        """`appended` has (name, error, required_offset, leader_epoch) for each partition of the
        request. The error says how the append ended: "NONE" if it succeeded.
        """
        self.appended = appended
        self.settled: set[str] = set()

    def look(self, states: Mapping[str, State]) -> tuple[Settled, Missing]:
        """Return the partitions that this call has settled, and those that still wait."""
        settled: Settled = []
        missing: Missing = []
        for name, append_error, required_offset, epoch in self.appended:
            if name in self.settled:
                continue
            error = append_error
            if error == "NONE":
                error = self.error_now(states.get(name), required_offset, epoch)
            if error:
                settled.append((name, error))
                self.settled.add(name)
            else:
                missing.append((name, required_offset - states[name]["hw"]))
        return settled, missing

    def error_now(self, state: State | None, required_offset: int, epoch: int) -> str:
        """Return the error (or "NONE") that settles a partition; empty if it has to wait."""
        if state is None:
            return "UNKNOWN_TOPIC_OR_PARTITION"
        if not state["online"]:
            return "KAFKA_STORAGE_ERROR"
        if not state["leader"] or state["leader_epoch"] != epoch:
            return "NOT_LEADER_OR_FOLLOWER"
        if state["hw"] < required_offset:
            return ""
        if len(state["isr"]) < state["min_isr"]:
            return "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
        return "NONE"

    def expire(self) -> Settled:
        """After the time-out, settle the partitions that still wait, and return them."""
        left = []
        for name, append_error, _, _ in self.appended:
            if name not in self.settled:
                left.append((name, "REQUEST_TIMED_OUT" if append_error == "NONE" else append_error))
                self.settled.add(name)
        return left
