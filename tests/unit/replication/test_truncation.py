"""Where a follower cuts its log."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.log.leader_epoch_file_cache import EpochEntry
from kafka_edu.replication.truncation import offset_truncation_state


def own(entries: list[tuple[int, int]], leo: int) -> Callable[[int], tuple[int, int]]:
    """An epoch cache, from its definition."""

    def end_offset_for(epoch: int) -> tuple[int, int]:
        if not entries or epoch > entries[-1][0] or epoch < 0:
            return -1, -1
        known = [e for e, _ in entries if e <= epoch] or [epoch]
        return known[-1], next((start for e, start in entries if e > epoch), leo)

    return end_offset_for


def as_entries(pairs: list[tuple[int, int]]) -> list[EpochEntry]:
    return [EpochEntry(*pair) for pair in pairs]


@pytest.mark.parametrize(
    ("leader_answer", "expected"),
    [
        ((0, 125), (120, True)),  # both have epoch 0; ours ends at 120
        ((1, 128), (128, True)),  # the leader's epoch 1 ends before ours
        ((1, 500), (130, True)),  # the leader has more of it: nothing to cut
        ((-1, 128), (128, True)),  # version 0 names no epoch (KIP-101)
        ((-1, -1), (100, True)),  # the leader knows nothing that old: the high watermark
    ],
)
def test_where_a_follower_with_epochs_0_and_1_cuts(
    leader_answer: tuple[int, int], expected: tuple[int, bool]
) -> None:
    state = offset_truncation_state(*leader_answer, 100, 130, as_entries([(0, 0), (1, 120)]))
    assert (state.offset, state.complete) == expected


def test_an_epoch_that_the_follower_never_had_costs_another_round() -> None:
    """KIP-279: the follower truncates to the end of its next older epoch, and asks the leader about
    that epoch.
    """
    assert offset_truncation_state(1, 200, 100, 130, as_entries([(0, 0), (2, 120)])) == (120, False)


epoch_logs = st.lists(st.integers(0, 3), max_size=12).map(sorted)


@given(epoch_logs, epoch_logs, st.integers(0, 12))
def test_truncation_ends_and_leaves_a_common_prefix(
    leader: list[int], follower: list[int], hw: int
) -> None:
    """The logs are lists of epochs. Two records at one offset with the same epoch are the same
    record. So logs that share an epoch after their first difference cannot exist, and are skipped.
    Asking until `complete` must leave exactly the common prefix.
    """
    common = 0
    while common < min(len(leader), len(follower)) and leader[common] == follower[common]:
        common += 1
    if set(leader[common:]) & set(follower[common:]):
        return  # two leaders of one epoch: cannot be
    if follower and follower[-1] not in leader and (not leader or follower[-1] > leader[-1]):
        leader = [*leader, follower[-1] + 1]  # a leader's epoch is newer than all there were

    def entries(log: list[int]) -> list[tuple[int, int]]:
        return [(epoch, log.index(epoch)) for epoch in sorted(set(log))]

    rounds = 0
    while True:
        rounds += 1
        assert rounds < 20
        asked = follower[-1] if follower else -1
        answer = own(entries(leader), len(leader))(asked)
        state = offset_truncation_state(
            *answer, min(hw, len(follower)), len(follower), as_entries(entries(follower))
        )
        follower = follower[: state.offset]
        if state.complete:
            break
    assert follower == leader[: len(follower)]
    if asked >= 0:
        assert len(follower) == common
