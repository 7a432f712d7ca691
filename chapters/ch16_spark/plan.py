"""The numbers of chapter 16: the records that its jobs read, and the sizes of its micro-batches."""

from collections.abc import Iterator
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.source_planning import StreamOffset, admit

SOURCE: Final = "ch16"
#: The number of records in each partition of the topic `ch16`.
FILLED: Final = (600, 398, 2)
MOST_PLANNED: Final = 300
MOST_COPIED: Final = 500
SLOTS: Final = 2

#: The times of the visits. Each micro-batch has two, and the second of them is late.
VISITS: Final = ("12:10:00", "12:01:00", "12:10:05", "12:01:10", "12:10:10", "12:01:20")
MOST_VISITS: Final = 2
DELAY_MINUTES: Final = 2
WINDOW_MINUTES: Final = 1


def planned(most: int) -> Iterator[StreamOffset]:
    """Yield the end offsets of the micro-batches of a query on `ch16`, by the source's own rule.

    A batch has at most `most` offsets.
    """
    ends = {TopicPartition(SOURCE, partition): end for partition, end in enumerate(FILLED)}
    at = dict.fromkeys(ends, 0)
    while at != ends:
        admitted = admit(at, ends, most=most, least=None, waited_ms=0, max_delay_ms=0)
        assert admitted is not None, "nothing waits for more records"
        at = admitted
        yield StreamOffset(at, {})
