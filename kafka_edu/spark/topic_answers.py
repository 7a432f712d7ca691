"""Read the records in the pipeline's topics back, and compare them with the generator's correct
counts.

Only committed records count. `read_windows` and `read_lines` read with
isolation.level=read_committed, as every consumer of these topics should.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.log_topic import TIMEOUT_S, topic_reader
from kafka_edu.spark.pipeline_answers import (
    Comparison,
    Window,
    compare_numbers,
    compare_tables,
    compare_windows,
)
from kafka_edu.spark.web_log_topic import TopicNotFilled

if TYPE_CHECKING:
    from kafka_edu.clients.web_log.truth import LogTruth


_POLL_MS: Final = 100


class TopicWindows(NamedTuple):
    """The windows that were found in a topic of windows."""

    windows: dict[int, Window]
    """Begin of the window in seconds since 1970 → the window."""
    records: int
    """The number of records in the topic. If it is larger than the number of `windows`, a window
    was written twice.
    """


class TopicLines(NamedTuple):
    """The lines that were found in a topic of lines."""

    by_status: dict[int, int]
    """HTTP status → number of different lines."""
    lines: int
    """The number of different lines. Two lines are the same if they were read from the same
    partition and offset.
    """
    records: int
    """The number of records in the topic. If it is larger than `lines`, a line was written
    twice.
    """


def read_windows(bootstrap_servers: str, topic: str) -> TopicWindows:
    """Read a topic of windows to its end. Raises TopicNotFilled if it cannot be read."""
    windows: dict[int, Window] = {}
    records = 0
    for row in _committed(bootstrap_servers, topic):
        begin_s = int(datetime.fromisoformat(row["begin"]).timestamp())
        windows[begin_s] = Window(row["lines"], row["errors"], row["p99_us"])
        records += 1
    return TopicWindows(windows, records)


def read_lines(bootstrap_servers: str, topic: str) -> TopicLines:
    """Read a topic of lines to its end. Raises TopicNotFilled if it cannot be read."""
    status: dict[tuple[int, int], int] = {}
    records = 0
    for row in _committed(bootstrap_servers, topic):
        status[row["partition"], row["offset"]] = row["status"]
        records += 1
    return TopicLines(dict(Counter(status.values())), len(status), records)


def _committed(bootstrap_servers: str, topic: str) -> Iterator[dict[str, Any]]:
    """Yield the decoded value of each committed record, up to the end of each partition."""
    with topic_reader(bootstrap_servers, topic, "read_committed") as consumer:
        ends = consumer.end_offsets(consumer.partitions_for(topic))
        consumer.assign(list(ends))
        consumer.seek_to_beginning()
        deadline_s = time.monotonic() + TIMEOUT_S
        before: dict[TopicPartition, int] = {}
        while behind := {tp: at for tp, end in ends.items() if (at := consumer.position(tp)) < end}:
            if behind != before:  # a marker at the end of a transaction moves it too
                before, deadline_s = behind, time.monotonic() + TIMEOUT_S
            elif time.monotonic() > deadline_s:
                raise TopicNotFilled(
                    f"topic {topic} could not be read to its end: {min(behind)} sent nothing for"
                    f" {TIMEOUT_S:.0f} s. Are all brokers up?"
                )
            for record in consumer.poll(_POLL_MS):
                yield json.loads(record.value if isinstance(record.value, bytes) else b"{}")


def compare_window_topic(found: TopicWindows, truth: "LogTruth") -> list[Comparison]:
    """Compare the windows in a topic with the correct counts. Return a row for each compared
    number.
    """
    return [
        compare_windows("result topic: lines", truth.windows, found.windows, 0),
        compare_windows("result topic: errors (5xx)", truth.windows, found.windows, 1),
        compare_windows("result topic: exact p99", truth.windows, found.windows, 2),
        compare_numbers("result topic: windows doubled", 0, found.records - len(found.windows)),
    ]


def compare_line_topic(found: TopicLines, truth: "LogTruth") -> list[Comparison]:
    """Compare the lines in a topic with the correct counts. Return a row for each compared
    number.
    """
    good = truth.lines - truth.bad
    return [
        compare_numbers("topic of lines: records", good, found.records),
        compare_numbers("topic of lines: lines lost", 0, good - found.lines),
        compare_numbers("topic of lines: lines doubled", 0, found.records - found.lines),
        compare_tables("topic of lines: lines, by status", truth.by_status, found.by_status),
    ]
