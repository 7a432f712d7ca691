"""Exercise 03-2, wrong: it waits for the records of an append that failed."""

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
        self.settled: set[str] = set()

    def look(self, states: Mapping[str, State]) -> tuple[Settled, Missing]:
        """Return the partitions that this look has settled, and those that still wait."""
        settled: Settled = []
        missing: Missing = []
        for name, _, required_offset, epoch in self.appended:
            if name in self.settled:
                continue
            error = self.error_now(states.get(name), required_offset, epoch)
            if error:
                settled.append((name, error))
                self.settled.add(name)
            else:
                missing.append((name, required_offset - states[name]["hw"]))
        return settled, missing

    def error_now(self, state: State | None, required_offset: int, epoch: int) -> str:
        """Return how a partition ends; empty if it has to wait."""
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
        """The time is up: settle the partitions that still wait, and return them."""
        left = []
        for name, append_error, _, _ in self.appended:
            if name not in self.settled:
                left.append((name, "REQUEST_TIMED_OUT" if append_error == "NONE" else append_error))
                self.settled.add(name)
        return left
