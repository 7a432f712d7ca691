"""The rules for what read_committed readers may see of one log (Kafka: Log.firstUnstableOffset,
TransactionIndex.collectAbortedTxns; KIP-98; spec X2).
"""

from collections.abc import Mapping

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.transaction_index import AbortedTxn, TransactionIndex
from kafka_edu.trace.events.transaction import UnstableTransaction


class StableRule:
    """Finds the transaction that holds a log's last stable offset back, and the aborted
    transactions of a fetch. Keeps no state.
    """

    __slots__ = ("_topic_partition",)

    def __init__(self, topic_partition: TopicPartition) -> None:
        self._topic_partition = topic_partition

    def first_unstable(
        self,
        ongoing: Mapping[int, UnstableTransaction],
        unreplicated: Mapping[int, UnstableTransaction],
        high_watermark: int,
    ) -> int | None:
        """Return the offset at which the last stable offset has to stop. Return None if the last
        stable offset is the high watermark.

        Both tables have the transactions by their first offset. The transactions in `ongoing` are
        open, and are in ascending order. The transactions in `unreplicated` are decided, and their
        markers are at or above the high watermark. O(decided transactions).
        """
        first = next(iter(ongoing), None)
        if unreplicated:
            decided = min(unreplicated)
            return decided if first is None or decided < first else first
        return first

    def overlapping(
        self, index: TransactionIndex, start: int, end: int
    ) -> tuple[list[AbortedTxn], bool]:
        """Return the aborted transactions of one index that overlap the offsets from `start` to
        `end` - 1.

        The second result is True if no later index can contain another such transaction.
        """
        return index.collect(start, end)
