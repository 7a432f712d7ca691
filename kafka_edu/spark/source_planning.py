"""Which offsets a query reads: pure functions of what the user wants and what the brokers have.

A batch is planned once. A stream is planned once a micro-batch, in two steps, as Spark asks for it
(Spark: KafkaMicroBatchStream, KafkaOffsetRangeCalculator):

1. `admit` says where the micro-batch ends. It holds back what maxOffsetsPerTrigger does not allow,
   and waits for minOffsetsPerTrigger.
2. `stream_ranges` says what to read between the two ends. It finds records that are gone.

`split` then makes Spark tasks of the ranges. Nothing here asks a broker, reads a clock or sleeps.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
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

#: The advice for a checkpoint of another query.
OWN_CHECKPOINT: Final = "Give each query a checkpointLocation of its own"
#: The key of the topic ids among the topics of an offset. No topic can have a space in its name.
TOPIC_IDS: Final = "topic ids"


class OffsetRange(NamedTuple):
    """Offsets `start` ≤ offset < `end` of one partition: the input of one Spark task."""

    topic: str
    partition: int
    start: int
    end: int
    topic_id: str = ""
    """The id of the topic that was planned for. Empty if the broker gave none."""

    @property
    def size(self) -> int:
        return self.end - self.start


class Losses(NamedTuple):
    """Ranges to read, and a line for each loss on the way to them."""

    ranges: list[OffsetRange]
    lost: list[str]


class StreamOffset(NamedTuple):
    """A position in a stream: the next offset of each partition, and the ids of the topics."""

    offsets: dict[TopicPartition, int]
    topic_ids: dict[str, str]

    def to_json(self) -> dict[str, dict[str, int | str]]:
        """Return the connector's form, topic → partition → offset, with the topic ids in it."""
        found: dict[str, dict[str, int | str]] = {}
        for tp in sorted(self.offsets):
            found.setdefault(tp.topic, {})[str(tp.partition)] = self.offsets[tp]
        if self.topic_ids:
            found[TOPIC_IDS] = dict(sorted(self.topic_ids.items()))
        return found

    @classmethod
    def from_json(cls, found: Mapping[str, Mapping[str, int | str]]) -> "StreamOffset":
        """Read the connector's form, with or without topic ids. Raises CheckpointError for the
        offset of another kind of source.
        """
        try:
            return cls(
                {
                    TopicPartition(topic, int(partition)): int(offset)
                    for topic, partitions in found.items()
                    if topic != TOPIC_IDS
                    for partition, offset in partitions.items()
                },
                {topic: str(uuid) for topic, uuid in found.get(TOPIC_IDS, {}).items()},
            )
        except (AttributeError, TypeError, ValueError):
            raise CheckpointError(
                f"the checkpoint holds the offset {str(found)[:80]}, which is none of topics:"
                f" another query has written it. {OWN_CHECKPOINT}"
            ) from None


def check_topics(begun: StreamOffset, topics: Topics, fail_on_data_loss: bool) -> None:
    """Raise CheckpointError if a query begins with offsets of a topic that its options leave out.

    With failOnDataLoss=false the query goes on with the topics that it reads.
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
    """Return what option `name` says for each partition. It must name exactly these partitions."""
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
    """Return the timestamp for each partition, in ms."""
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
    """Return an offset for each partition of `latest`, which may still lie outside of the log.

    `found_by_time` is the brokers' answer when the position is a time; None where no record is so
    late. Then `time_without_record` LATEST takes the end, and None raises SourceOptionError.
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
    """Return the offsets, moved into the log, and a line for each that lay outside of it."""
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
    """Return what a batch reads. Offsets outside of the log count as lost and are moved inside."""
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
    """Return ends such that about `most` offsets lie between, shared in proportion to what waits.

    A partition that has anything gets at least one offset, so that none starves beside a large
    one. With 1000 and 10 offsets waiting and `most` 100, the shares are 99 and 1.
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
    """Return where the micro-batch ends, or None to wait for more records.

    `waited_ms` is the time since the last micro-batch. `start` has every partition of `latest`.
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
    """Return what a micro-batch reads, and a line for each loss.

    `earliest` and `topic_ids` are the brokers' present answer; they lack what was deleted.

    - A partition that `start` lacks is new. It begins at its first record, and offset 0 is
      expected there.
    - A topic with another id was deleted and created again; so was one that ends before its start.
      What the old one held is gone. The new one is read from its first record. If the end is one
      of the old topic too, nothing is read now: the next micro-batch begins the new topic.
    - A start before the first record means that retention or DeleteRecords was faster.
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
    """Return the ranges. Raise DataLossError for the first loss if the query must not lose any."""
    if losses.lost and fail_on_data_loss:
        raise DataLossError(data_loss(losses.lost[0]))
    return losses.ranges


def data_loss(what: str) -> str:
    """Return the line for a loss, with what the user can do."""
    return (
        f"{what}. Records that this query wants are gone. Set failOnDataLoss to false to read what"
        " is there, or begin a new query with a new checkpoint"
    )


def loss_notice(what: str) -> str:
    """Return the line for a loss that the user allowed."""
    return f"{what}. What is there is read, because failOnDataLoss is false"


def split(
    ranges: Iterable[OffsetRange], min_partitions: int | None, max_records: int | None
) -> list[OffsetRange]:
    """Return the inputs of the Spark tasks, in the order of topic, partition and offset.

    First no task gets more than `max_records` offsets. If there are still fewer tasks than
    `min_partitions`, the large ranges are split in proportion to their size, and small ones stay
    whole. The number of tasks is then about `min_partitions`, because parts are rounded.
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
    """Return into how many parts a range of `size` goes: its share, rounded, and at least one."""
    return max((2 * size * wanted + total) // (2 * total), 1)


def _in_parts(one: OffsetRange, parts: int) -> list[OffsetRange]:
    """Cut a range into parts whose sizes differ by one at most. None is empty."""
    parts = min(parts, one.size)
    edges = [one.start + one.size * i // parts for i in range(parts + 1)]
    return [one._replace(start=edges[i], end=edges[i + 1]) for i in range(parts)]
