"""How the demo of compaction judges what a consumer read."""

import pytest

from chapters.ch09_log_storage.compaction import Stored, judge

A, B, C = b"a", b"b", b"c"
ACKED = {
    0: Stored(A, b"1"),
    1: Stored(B, b"1"),
    2: Stored(A, b"2"),
    3: Stored(C, b"1"),
    4: Stored(C, None),
}
RIGHT = [(1, ACKED[1]), (2, ACKED[2])]


@pytest.mark.parametrize(
    "more", [[], [(0, ACKED[0])], [(4, ACKED[4])], [(3, ACKED[3]), (4, ACKED[4])]]
)
def test_old_values_and_tombstones_may_stay(more: list[tuple[int, Stored]]) -> None:
    found = judge(sorted([*RIGHT, *more], key=lambda one: one[0]), ACKED, set())
    assert (found.keys, found.read) == (2, 2 + len(more))
    assert found[2:] == (0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("read", "field"),
    [
        (RIGHT[:1], "lost_or_old"),
        ([(0, ACKED[0]), (1, ACKED[1])], "lost_or_old"),
        ([*RIGHT, (3, ACKED[3])], "came_back"),
        ([*RIGHT, (7, Stored(B, b"1"))], "elsewhere"),
        ([RIGHT[1], RIGHT[0]], "out_of_order"),
        ([*RIGHT, (9, Stored(A, b"2"))], "from_aborted"),
    ],
)
def test_each_fault_is_counted(read: list[tuple[int, Stored]], field: str) -> None:
    assert getattr(judge(read, ACKED, {9}), field) == 1
