"""StableRule: the offset where read_committed readers stop, and the aborted transactions that they
skip.
"""

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.stable_rule import StableRule
from kafka_edu.log.transaction_index import AbortedTxn, TransactionIndex
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.events.transaction import UnstableTransaction

RULE = StableRule(TopicPartition("t", 0))


@pytest.mark.parametrize(
    ("ongoing", "unreplicated", "oldest"),
    [
        ([], [], None),
        ([5, 9], [], 5),  # the oldest open transaction stands first
        ([], [7, 3], 3),  # decided, but its marker is not below the high watermark yet
        ([5], [3], 3),
        ([2], [3], 2),
    ],
)
def test_the_oldest_transaction_holds_the_last_stable_offset(
    ongoing: list[int], unreplicated: list[int], oldest: int | None
) -> None:
    opened = {first: UnstableTransaction(first, 0, first, 0) for first in ongoing}
    decided = {first: UnstableTransaction(first, 0, first, 0, 20) for first in unreplicated}
    assert RULE.first_unstable(opened, decided, 20) == oldest


def test_a_fetch_gets_the_aborted_transactions_that_it_overlaps() -> None:
    index = TransactionIndex(MemoryFileSystem(), "0.txnindex", 0)
    early = AbortedTxn(producer_id=1, first_offset=0, last_offset=4, last_stable_offset=5)
    late = AbortedTxn(producer_id=2, first_offset=6, last_offset=12, last_stable_offset=13)
    for one in (early, late):
        index.append(one)
    assert RULE.overlapping(index, 0, 5) == ([early], True), "no later index has another one"
    assert RULE.overlapping(index, 5, 9) == ([late], True)
    assert RULE.overlapping(index, 3, 8) == ([early, late], True)
    assert RULE.overlapping(index, 13, 20) == ([], False)
