"""Which offsets a query reads: ends of micro-batches, lost records, and the split into tasks."""

import itertools
import random
from typing import Any

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.source_errors import CheckpointError, DataLossError, SourceOptionError
from kafka_edu.spark.source_options import AtTime, Bound, Position, Topics
from kafka_edu.spark.source_planning import (
    OffsetRange,
    StreamOffset,
    admit,
    batch_ranges,
    check_topics,
    fixed_offsets,
    judge,
    rate_limit,
    resolve,
    split,
    stream_ranges,
)

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
SEED = 1515


def test_a_micro_batch_is_shared_in_proportion_and_nobody_starves() -> None:
    assert rate_limit({A: 0, B: 0}, {A: 1000, B: 10}, 100) == {A: 99, B: 1}
    assert rate_limit({A: 5, B: 9}, {A: 1005, B: 9}, 100) == {A: 105, B: 9}


def test_a_rate_limit_never_passes_the_end_and_always_comes_forward() -> None:
    draw = random.Random(SEED)
    for _ in range(500):
        tps = [TopicPartition("t", i) for i in range(draw.randint(1, 6))]
        start = {tp: draw.randint(0, 10**12) for tp in tps}
        latest = {tp: start[tp] + draw.choice([0, 1, 7, 10**9]) for tp in tps}
        most = draw.choice([1, 10, 10**6])
        end = rate_limit(start, latest, most)
        assert all(start[tp] <= end[tp] <= latest[tp] for tp in tps)
        moved = sum(end[tp] - start[tp] for tp in tps)
        assert moved <= most + len(tps)
        assert all(end[tp] > start[tp] for tp in tps if latest[tp] > start[tp])


@pytest.mark.parametrize(
    ("most", "least", "waited_ms", "end"),
    [
        (None, None, 0, {A: 100, B: 50}),
        (30, None, 0, {A: 20, B: 10}),
        (None, 200, 0, None),
        (None, 200, 1000, {A: 100, B: 50}),
        (30, 200, 999, None),
        (30, 150, 0, {A: 20, B: 10}),
        (500, None, 0, {A: 100, B: 50}),
    ],
)
def test_admission(
    most: int | None, least: int | None, waited_ms: float, end: dict[TopicPartition, int] | None
) -> None:
    assert end == admit(
        {A: 0, B: 0},
        {A: 100, B: 50},
        most=most,
        least=least,
        waited_ms=waited_ms,
        max_delay_ms=1000,
    )


@pytest.mark.parametrize(
    ("position", "found"),
    [
        (Bound.EARLIEST, {A: 3, B: 0}),
        (Bound.LATEST, {A: 90, B: 40}),
        ({"t": {0: 7, 1: -1}}, {A: 7, B: 40}),
        ({"t": {0: -2, 1: 11}}, {A: 3, B: 11}),
        (AtTime(1000, None), {A: 30, B: 40}),
    ],
)
def test_positions_become_offsets(position: Position, found: dict[TopicPartition, int]) -> None:
    by_time = {A: 30, B: None}
    assert found == resolve(
        "startingOffsets", position, {A: 3, B: 0}, {A: 90, B: 40}, by_time, Bound.LATEST
    )


def test_a_time_after_the_last_record_is_an_error_unless_the_user_says_otherwise() -> None:
    with pytest.raises(SourceOptionError, match="t-1 has no record at or after that time"):
        resolve("s", AtTime(9, None), {A: 0, B: 0}, {A: 9, B: 9}, {A: 1, B: None}, None)


def test_offsets_name_just_the_partitions_that_are_read() -> None:
    assert fixed_offsets("o", {"t": {0: 1, 1: 2}}, [A, B]) == {A: 1, B: 2}
    with pytest.raises(SourceOptionError, match="o says nothing of t-1"):
        fixed_offsets("o", {"t": {0: 1}}, [A, B])
    with pytest.raises(SourceOptionError, match="o names t-1, which is not read"):
        fixed_offsets("o", {"t": {0: 1, 1: 1}}, [A])


def test_a_batch_outside_of_the_log_is_an_error_or_is_moved_inside() -> None:
    losses = batch_ranges({A: 2, B: 0}, {A: 120, B: 0}, {A: 10, B: 0}, {A: 90, B: 5}, {"t": "id"})
    assert judge(losses, False) == [OffsetRange("t", 0, 10, 90, "id")]
    with pytest.raises(DataLossError, match="t-0 has offsets 10 to 90, and startingOffsets is 2"):
        judge(losses, True)
    with pytest.raises(SourceOptionError, match="t-0 would end at offset 20, before its start 30"):
        batch_ranges({A: 30}, {A: 20}, {A: 0}, {A: 90}, {})
    assert batch_ranges({A: 999}, {A: 90}, {A: 0}, {A: 90}, {}).ranges == []


def at(offsets: dict[TopicPartition, int], topic_id: str = "one") -> StreamOffset:
    return StreamOffset(offsets, {"t": topic_id})


@pytest.mark.parametrize(
    ("start", "end", "earliest", "ranges", "lost"),
    [
        (at({A: 5}), at({A: 9}), {A: 0}, [(0, 5, 9)], ""),
        (at({A: 5}), at({A: 5}), {A: 0}, [], ""),
        (at({A: 5}), at({A: 9, B: 4}), {A: 0, B: 0}, [(0, 5, 9), (1, 0, 4)], ""),
        (at({A: 5}), at({A: 9, B: 4}), {A: 0, B: 2}, [(0, 5, 9), (1, 2, 4)], "is new and begins"),
        (at({A: 5}), at({A: 9}), {A: 7}, [(0, 7, 9)], "has lost the offsets 5 to 6"),
        (at({A: 5}), at({A: 3}), {A: 0}, [(0, 0, 3)], "read up to 5 and now ends at 3"),
        (at({A: 5, B: 6}), at({A: 9}), {A: 0}, [(0, 5, 9)], "t-1 does not exist any more"),
        (at({A: 5}, "old"), at({A: 9}), {A: 0}, [(0, 0, 9)], "deleted and created again"),
        (at({A: 5}, "old"), at({A: 9}, "old"), {A: 0}, [], "deleted and created again"),
        (at({A: 5}, ""), at({A: 9}), {A: 0}, [(0, 5, 9)], ""),
    ],
)
def test_what_a_micro_batch_reads_and_what_it_has_lost(
    start: StreamOffset,
    end: StreamOffset,
    earliest: dict[TopicPartition, int],
    ranges: list[tuple[int, int, int]],
    lost: str,
) -> None:
    losses = stream_ranges(start, end, earliest, {"t": "one"})
    assert [(one.partition, one.start, one.end) for one in judge(losses, False)] == ranges
    assert bool(losses.lost) == bool(lost)
    if lost:
        with pytest.raises(DataLossError, match=lost) as stopped:
            judge(losses, True)
        assert "Set failOnDataLoss to false" in str(stopped.value)


@pytest.mark.parametrize("found", [5, {"logOffset": 0}, {"t": {"zero": 1}}, {"t": {"0": None}}])
def test_the_offset_of_another_kind_of_source_is_refused(found: Any) -> None:
    with pytest.raises(CheckpointError, match=r"another query has written it\. Give each query a"):
        StreamOffset.from_json(found)


@pytest.mark.parametrize(
    "topics", [Topics(names=("t",)), Topics(pattern="t|u"), Topics(assigned={"t": (0,)})]
)
def test_the_checkpoint_of_another_query_is_refused(topics: Topics) -> None:
    check_topics(at({A: 5}), topics, True)
    other = StreamOffset({A: 5, TopicPartition("other", 0): 7}, {})
    with pytest.raises(CheckpointError, match="has an offset of other-0, which this query"):
        check_topics(other, topics, True)
    check_topics(other, topics, False)


def test_a_stream_offset_is_the_connectors_json_with_the_topic_ids() -> None:
    offset = StreamOffset({A: 5, B: 6}, {"t": "id"})
    assert offset.to_json() == {"t": {"0": 5, "1": 6}, "topic ids": {"t": "id"}}
    assert StreamOffset.from_json(offset.to_json()) == offset
    assert StreamOffset.from_json({"t": {"0": 5}}) == StreamOffset({A: 5}, {})


def test_the_end_of_a_first_micro_batch_has_the_offsets_where_it_began() -> None:
    partition = TopicPartition("a-topic", 0)
    offset = StreamOffset({partition: 5}, {"a-topic": "id"}, {partition: 2})
    stored = {
        "a-topic": {"0": 5},
        "topic ids": {"a-topic": "id"},
        "began at": {"a-topic-0": 2},
    }
    assert offset.to_json() == stored
    assert StreamOffset.from_json(stored) == offset


def sizes(*found: int) -> list[OffsetRange]:
    return [OffsetRange("t", i, 100, 100 + size) for i, size in enumerate(found)]


@pytest.mark.parametrize(
    ("ranges", "least", "most", "parts"),
    [
        (sizes(10, 0, 10), None, None, [10, 10]),
        (sizes(100, 100), 2, None, [100, 100]),
        (sizes(100, 100), 4, None, [50, 50, 50, 50]),
        (sizes(1000, 10), 4, None, [333, 333, 334, 10]),
        (sizes(10, 25), None, 10, [10, 8, 8, 9]),
        (sizes(3), 10, None, [1, 1, 1]),
    ],
)
def test_ranges_are_split_into_tasks(
    ranges: list[OffsetRange], least: int | None, most: int | None, parts: list[int]
) -> None:
    assert [one.size for one in split(ranges, least, most)] == parts


def test_the_parts_of_a_split_join_to_what_was_split() -> None:
    draw = random.Random(SEED)
    for _ in range(300):
        ranges = sizes(*(draw.choice([0, 1, 5, 1000, 10**9]) for _ in range(draw.randint(1, 5))))
        least, most = draw.choice([None, 1, 7, 40]), draw.choice([None, 10**7])
        tasks = split(ranges, least, most)
        for whole in ranges:
            mine = [one for one in tasks if one.partition == whole.partition]
            assert all(one.size > 0 for one in mine)
            assert sum(one.size for one in mine) == whole.size
            assert all(a.end == b.start for a, b in itertools.pairwise(mine))
            assert most is None or all(one.size <= most for one in mine)
