"""Computes the right answers of exercise 07-3 with the follower's own rule, and makes random logs
for its tests.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from kafka_edu.log.leader_epoch_file_cache import EpochEntry, end_offset_in
from kafka_edu.replication.truncation import offset_truncation_state

Log = list[int]
"""A log as the epoch of each record. Records with equal offset and epoch count as equal."""


class Case(NamedTuple):
    """The input of `cut`: the follower's log, and the leader's answer."""

    epochs: tuple[tuple[int, int], ...]
    leo: int
    hw: int
    leader_epoch: int
    leader_end: int

    def arguments(self) -> list[object]:
        """Return the case as the list of arguments for the learner's `cut`."""
        return [[list(pair) for pair in self.epochs], *self[1:]]


def right(case: Case) -> tuple[int, bool]:
    """Return the right new end of the log, and whether the cut is complete (if not, the follower
    asks again).
    """
    epochs = [EpochEntry(*pair) for pair in case.epochs]
    offset, complete = offset_truncation_state(
        case.leader_epoch, case.leader_end, case.hw, case.leo, epochs
    )
    return offset, complete


def epochs_of(log: Log) -> tuple[tuple[int, int], ...]:
    """Return (epoch, offset of its first record) for each epoch in a log."""
    return tuple((epoch, log.index(epoch)) for epoch in sorted(set(log)))


def answer_of(leader: Log, epoch: int) -> tuple[int, int]:
    """Return the leader's answer to an OffsetsForLeaderEpoch request: an epoch, and its end."""
    entries: Sequence[EpochEntry] = [EpochEntry(*pair) for pair in epochs_of(leader)]
    return end_offset_in(entries, epoch, len(leader))


def two_logs(random: Random, most: int = 14) -> tuple[Log, Log]:
    """Return random logs of a leader and of a follower. They are equal up to some offset."""
    common = sorted(random.choices(range(3), k=random.randint(0, most)))
    free = list(range(max(common, default=0) + 1, 12))
    random.shuffle(free)
    theirs, ours = sorted(free[:3]), sorted(free[3:5])
    leader = common + sorted(random.choices(theirs, k=random.randint(0, 6)))
    follower = common + sorted(random.choices(ours, k=random.randint(0, 6)))
    if follower and (not leader or leader[-1] <= follower[-1]):
        leader = [*leader, 12]  # a leader's epoch is newer than all there were
    return leader, follower
