"""Plan which offsets a query reads. All functions are pure: they compute the plan from the user's
options and the offsets on the brokers.

A batch query is planned once. A streaming query is planned once for each micro-batch, in two steps,
as Spark requires (Spark: KafkaMicroBatchStream, KafkaOffsetRangeCalculator):

1. `admit` decides where the micro-batch ends. It admits no more offsets than maxOffsetsPerTrigger,
   and waits for as many as minOffsetsPerTrigger.
2. `stream_ranges` returns the ranges to read between begin and end. It finds out which records no
   longer exist.

Then `split` divides the ranges into the inputs of Spark tasks. This module sends no requests, reads
no clock and never sleeps.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.source_errors import CheckpointError, DataLossError, SourceOptionError
from kafka_edu.spark.source_options import (
    EARLIEST,
    LATEST,
    AtTime,
    Bound,
    Offsets,
    Position,
    Topics,
)

PartitionOffsets = Mapping[TopicPartition, int]

#: Advice for the user if a checkpoint belongs to another query.
OWN_CHECKPOINT: Final = "Give each query a checkpointLocation of its own"
#: The key under which the topic ids are stored in an offset, next to the topics. A topic's name
#: cannot contain a space, so no topic has this name.
TOPIC_IDS: Final = "topic ids"
#: The key under which the end of the first micro-batch stores where that micro-batch began.
BEGAN: Final = "began at"
NOWHERE: Final[PartitionOffsets] = MappingProxyType({})


class OffsetRange(NamedTuple):
    """The offsets of one partition from `start` to just below `end`. One Spark task reads them."""

    topic: str
    partition: int
    start: int
    end: int
    topic_id: str = ""
    """The id of the topic at the time of planning. Empty if the broker gave no id."""

    @property
    def size(self) -> int:
        return self.end - self.start


class Losses(NamedTuple):
    """The ranges to read, and a line of text for each loss that was found."""

    ranges: list[OffsetRange]
    lost: list[str]


class StreamOffset(NamedTuple):
    """A position in a stream: for each partition the next offset to read, and the ids of the
    topics.
    """

    offsets: dict[TopicPartition, int]
    topic_ids: dict[str, str]
    began: PartitionOffsets = NOWHERE
    """The offsets at which the micro-batch that ends here began. Only the end of a query's first
    micro-batch has them, because Spark does not store the offsets at which a query begins.
    """

    def to_json(self) -> dict[str, dict[str, int | str]]:
        """Return the offset in the JSON form of the official connector, topic → partition → offset.
        The topic ids are added, if there are any. So are the offsets in `began`, at which the
        micro-batch began.
        """
        found: dict[str, dict[str, int | str]] = {}
        for tp in sorted(self.offsets):
            found.setdefault(tp.topic, {})[str(tp.partition)] = self.offsets[tp]
        if self.topic_ids:
            found[TOPIC_IDS] = dict(sorted(self.topic_ids.items()))
        if self.began:
            found[BEGAN] = {f"{tp}": self.began[tp] for tp in sorted(self.began)}
        return found

    @classmethod
    def from_json(cls, found: Mapping[str, Mapping[str, int | str]]) -> "StreamOffset":
        """Make an offset from the JSON form of the official connector. The topic ids and the values
        of `began` may be missing. Raises CheckpointError if it is an offset of a different kind of
        source.
        """
        try:
            return cls(
                {
                    TopicPartition(topic, int(partition)): int(offset)
                    for topic, partitions in found.items()
                    if topic not in (TOPIC_IDS, BEGAN)
                    for partition, offset in partitions.items()
                },
                {topic: str(uuid) for topic, uuid in found.get(TOPIC_IDS, {}).items()},
                {
                    TopicPartition.parse(name): int(offset)
                    for name, offset in found.get(BEGAN, {}).items()
                },
            )
        except (AttributeError, TypeError, ValueError):
            raise CheckpointError(
                f"the checkpoint holds the offset {str(found)[:80]}, which is none of topics:"
                f" another query has written it. {OWN_CHECKPOINT}"
            ) from None


def check_topics(begun: StreamOffset, topics: Topics, fail_on_data_loss: bool) -> None:
    """Raise CheckpointError if the query begins with offsets of a topic that its options do not
    include.

    With failOnDataLoss=false no error is raised, and the query continues with the topics in its
    options.
    """
    for tp in sorted(begun.offsets) if fail_on_data_loss else ():
        if not topics.include(tp):
            raise CheckpointError(
                f"the checkpoint has an offset of {tp}, which this query does not read: another"
                f" query has written it, or the topics were changed. {OWN_CHECKPOINT}; or set"
                " failOnDataLoss to false to read on without it"
            )


def fixed_offsets(
    name: str, wanted: Offsets, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the offset of each partition as the option `name` gives it. The option must name
    exactly these partitions.
    """
    given = {TopicPartition(topic, p): n for topic, of in wanted.items() for p, n in of.items()}
    if missing := sorted(set(partitions) - set(given)):
        raise SourceOptionError(
            f"option {name} says nothing of {missing[0]}: give a number for each partition"
            + ("" if name.endswith("Timestamp") else ", -2 for earliest, -1 for latest")
        )
    if extra := sorted(set(given) - set(partitions)):
        raise SourceOptionError(f"option {name} names {extra[0]}, which is not read or not there")
    return given


def wanted_times(
    name: str, position: AtTime, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the timestamp for each partition in ms, as the option `name` gives it."""
    if position.by_partition is not None:
        return fixed_offsets(f"{name}ByTimestamp", position.by_partition, partitions)
    return dict.fromkeys(partitions, position.everywhere or 0)


def resolve(
    name: str,
    position: Position,
    earliest: PartitionOffsets,
    latest: PartitionOffsets,
    found_by_time: Mapping[TopicPartition, int | None],
    time_without_record: Bound | None,
) -> dict[TopicPartition, int]:
    """Return an offset for each partition in `latest`. The offset may still be outside of the log.

    If the position is a time, `found_by_time` has the brokers' answers: for each partition an
    offset, or None if no record has this time or a later one. For None, `time_without_record`
    decides: with LATEST, the end of the partition is used. Without it, SourceOptionError is raised.
    """
    if position is Bound.EARLIEST:
        return dict(earliest)
    if position is Bound.LATEST:
        return dict(latest)
    if isinstance(position, AtTime):
        found = {}
        for tp in latest:
            at = found_by_time[tp]
            if at is None and time_without_record is None:
                raise SourceOptionError(
                    f"option {name}: {tp} has no record at or after that time. Give an earlier"
                    " time, or startingOffsetsByTimestampStrategy=latest to begin at the end"
                )
            found[tp] = latest[tp] if at is None else at
        return found
    assert isinstance(position, dict)
    ends = {EARLIEST: earliest, LATEST: latest}
    return {
        tp: ends[offset][tp] if offset in ends else offset
        for tp, offset in fixed_offsets(name, position, list(latest)).items()
    }


def move_inside(
    name: str, offsets: PartitionOffsets, earliest: PartitionOffsets, latest: PartitionOffsets
) -> tuple[dict[TopicPartition, int], list[str]]:
    """Move offsets that are outside of the log into the log. Return all offsets, and a line of text
    for each moved offset.
    """
    lost = [
        f"{tp} has offsets {earliest[tp]} to {latest[tp]}, and {name} is {offset}"
        for tp, offset in sorted(offsets.items())
        if not earliest[tp] <= offset <= latest[tp]
    ]
    return {tp: min(max(at, earliest[tp]), latest[tp]) for tp, at in offsets.items()}, lost


def batch_ranges(
    start: PartitionOffsets,
    end: PartitionOffsets,
    earliest: PartitionOffsets,
    latest: PartitionOffsets,
    topic_ids: Mapping[str, str],
) -> Losses:
    """Return the ranges that a batch query reads. Offsets outside of the log are moved into it, and
    count as a loss.
    """
    begins, early = move_inside("startingOffsets", start, earliest, latest)
    stops, late = move_inside("endingOffsets", end, earliest, latest)
    ranges = []
    for tp, begin in sorted(begins.items()):
        stop = stops[tp]
        if stop < begin:
            raise SourceOptionError(
                f"{tp} would end at offset {end[tp]}, before its start {start[tp]}: exchange the"
                " starting and ending options"
            )
        if begin < stop:
            ranges.append(OffsetRange(*tp, begin, stop, topic_ids.get(tp.topic, "")))
    return Losses(ranges, early + late)


def rate_limit(
    start: PartitionOffsets, latest: PartitionOffsets, most: int
) -> dict[TopicPartition, int]:
    """Return an end for each partition, so that about `most` offsets are read in total. Each
    partition gets a share in proportion to its waiting offsets.

    A partition with waiting offsets gets at least one offset, so that small partitions are read
    too. Example: if 1000 and 10 offsets wait and `most` is 100, the shares are 99 and 1.
    """
    waiting = {tp: max(end - start[tp], 0) for tp, end in latest.items()}
    total = sum(waiting.values())
    ends = {}
    for tp, end in latest.items():
        share = most * waiting[tp] // total if total else 0
        ends[tp] = min(start[tp] + max(share, 1), end) if waiting[tp] else end
    return ends


def admit(
    start: PartitionOffsets,
    latest: PartitionOffsets,
    *,
    most: int | None,
    least: int | None,
    waited_ms: float,
    max_delay_ms: int,
) -> dict[TopicPartition, int] | None:
    """Return the offsets at which the micro-batch ends. Return None if the query must wait for more
    records.

    `waited_ms` is the time since the last micro-batch. `start` must contain every partition of
    `latest`.
    """
    waiting = sum(max(end - start[tp], 0) for tp, end in latest.items())
    if least is not None and waiting < least and waited_ms < max_delay_ms:
        return None
    if most is None or waiting <= most:
        return dict(latest)
    return rate_limit(start, latest, most)


def stream_ranges(
    start: StreamOffset,
    end: StreamOffset,
    earliest: PartitionOffsets,
    topic_ids: Mapping[str, str],
) -> Losses:
    """Return the ranges that a micro-batch reads, and a line of text for each loss.

    `earliest` and `topic_ids` are the brokers' present answers, without deleted topics.

    - A partition that is not in `start` is new. It is read from its first record, which is expected
      to have offset 0.
    - If a topic has a different id, or its end is before its start, it was deleted and created
      again. The records of the old topic are lost. The new topic is read from its first record. If
      the end still belongs to the old topic, nothing is read now, and the next micro-batch begins
      with the new topic.
    - If the start is before the first record, retention or DeleteRecords has deleted the records in
      between.
    """
    ranges, lost = [], []
    for tp in sorted(start.offsets):
        if tp not in end.offsets or tp not in earliest:
            lost.append(f"{tp} does not exist any more; it was read up to {start.offsets[tp]}")
    for tp in sorted(end.offsets):
        if tp not in earliest:
            continue
        begin, first, stop = start.offsets.get(tp), earliest[tp], end.offsets[tp]
        before, after = start.topic_ids.get(tp.topic), topic_ids.get(tp.topic)
        if begin is None:
            if first > 0:
                lost.append(f"{tp} is new and begins at {first}, not at 0")
            begin = first
        elif before and after and before != after:
            lost.append(
                f"topic {tp.topic} was deleted and created again; the old {tp.topic}-{tp.partition}"
                f" was read up to {begin}"
            )
            if end.topic_ids.get(tp.topic) == before:
                continue
            begin = first
        elif stop < begin:
            lost.append(f"{tp} was read up to {begin} and now ends at {stop}")
            begin = first
        elif begin < first:
            lost.append(f"{tp} has lost the offsets {begin} to {first - 1}; it begins at {first}")
            begin = first
        if begin < stop:
            ranges.append(OffsetRange(*tp, begin, stop, after or ""))
    return Losses(ranges, lost)


def judge(losses: Losses, fail_on_data_loss: bool) -> list[OffsetRange]:
    """Return the ranges to read. If the query must not lose anything, raise DataLossError for the
    first loss.
    """
    if losses.lost and fail_on_data_loss:
        raise DataLossError(data_loss(losses.lost[0]))
    return losses.ranges


def data_loss(what: str) -> str:
    """Return the error line for a loss, with advice for the user."""
    return (
        f"{what}. Records that this query needs are gone. Set failOnDataLoss to false"
        " to read the remaining records, or begin a new query with a new checkpoint"
    )


def loss_notice(what: str) -> str:
    """Return the notice for a loss that the user's options allow."""
    return f"{what}. What is there is read, because failOnDataLoss is false"


def split(
    ranges: Iterable[OffsetRange], min_partitions: int | None, max_records: int | None
) -> list[OffsetRange]:
    """Divide the ranges into the inputs of the Spark tasks, sorted by topic, partition and offset.

    First, no task gets more than `max_records` offsets. If there are then fewer tasks than
    `min_partitions`, large ranges are divided further, in proportion to their size, and small
    ranges stay whole. The number of tasks is then about `min_partitions`, because the parts are
    rounded.
    """
    found = [one for one in ranges if one.size > 0]
    if max_records is not None:
        found = [
            part for one in found for part in _in_parts(one, math.ceil(one.size / max_records))
        ]
    if min_partitions is None or len(found) >= min_partitions:
        return found
    total = sum(one.size for one in found)
    whole = {one for one in found if _parts(one.size, total, min_partitions) == 1}
    left = max(min_partitions - len(whole), 1)
    rest = total - sum(one.size for one in whole)
    return [
        part
        for one in found
        for part in _in_parts(one, 1 if one in whole else _parts(one.size, rest, left))
    ]


def _parts(size: int, total: int, wanted: int) -> int:
    """Return the number of parts for a range of `size` offsets: its share of `wanted`, rounded, but
    at least one.
    """
    return max((2 * size * wanted + total) // (2 * total), 1)


def _in_parts(one: OffsetRange, parts: int) -> list[OffsetRange]:
    """Divide a range into parts whose sizes differ by at most one. No part is empty."""
    parts = min(parts, one.size)
    edges = [one.start + one.size * i // parts for i in range(parts + 1)]
    return [one._replace(start=edges[i], end=edges[i + 1]) for i in range(parts)]
