"""The records of the pipeline's topics, read back, and compared with the generator's truth.

Only what is committed counts: `read_windows` and `read_lines` read with isolation.level
read_committed, as every consumer of these topics should.
"""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from kafka_edu.spark.log_topic import QUIET, TIMEOUT_S
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


class TopicWindows(NamedTuple):
    """The windows of a result topic."""

    windows: dict[int, Window]
    """Begin in seconds since 1970 → window."""
    records: int
    """Records of the topic. More than `windows`: a window was written twice."""


class TopicLines(NamedTuple):
    """The lines of a topic of lines."""

    by_status: dict[int, int]
    """Status → different lines."""
    lines: int
    """Different lines, which are known by the place that they were read from."""
    records: int
    """Records of the topic. More than `lines`: a line was written twice."""


def read_windows(bootstrap_servers: str, topic: str) -> TopicWindows:
    """Read a result topic to its end. Raises TopicNotFilled."""
    windows: dict[int, Window] = {}
    records = 0
    for row in _committed(bootstrap_servers, topic):
        begin_s = int(datetime.fromisoformat(row["begin"]).timestamp())
        windows[begin_s] = Window(row["lines"], row["errors"], row["p99_us"])
        records += 1
    return TopicWindows(windows, records)


def read_lines(bootstrap_servers: str, topic: str) -> TopicLines:
    """Read a topic of lines to its end. Raises TopicNotFilled."""
    status: dict[tuple[int, int], int] = {}
    records = 0
    for row in _committed(bootstrap_servers, topic):
        status[row["partition"], row["offset"]] = row["status"]
        records += 1
    return TopicLines(dict(Counter(status.values())), len(status), records)


def _committed(bootstrap_servers: str, topic: str) -> Iterator[dict[str, Any]]:
    """Yield the value of each committed record, to the end of each partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "kafka-edu-answers",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            **QUIET,
        }
    )
    try:
        left = set(consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        while left:
            message = consumer.poll(TIMEOUT_S)
            if message is None:
                raise TopicNotFilled(
                    f"topic {topic} could not be read to its end: partition {min(left)} sent"
                    f" nothing for {TIMEOUT_S:.0f} s. Are all brokers up?"
                )
            if (error := message.error()) is None:
                yield json.loads(message.value() or b"{}")
            elif error.code() == KafkaError._PARTITION_EOF:
                left.discard(message.partition())
            else:
                raise KafkaException(error)
    except KafkaException as error:
        raise TopicNotFilled(f"topic {topic} could not be read: {error.args[0]}") from error
    finally:
        consumer.close()


def compare_window_topic(found: TopicWindows, truth: "LogTruth") -> list[Comparison]:
    """Return every answer of a result topic next to the truth."""
    return [
        compare_windows("result topic: lines", truth.windows, found.windows, 0),
        compare_windows("result topic: errors (5xx)", truth.windows, found.windows, 1),
        compare_windows("result topic: exact p99", truth.windows, found.windows, 2),
        compare_numbers("result topic: windows doubled", 0, found.records - len(found.windows)),
    ]


def compare_line_topic(found: TopicLines, truth: "LogTruth") -> list[Comparison]:
    """Return every answer of a topic of lines next to the truth."""
    good = truth.lines - truth.bad
    return [
        compare_numbers("topic of lines: records", good, found.records),
        compare_numbers("topic of lines: lines lost", 0, good - found.lines),
        compare_numbers("topic of lines: lines doubled", 0, found.records - found.lines),
        compare_tables("topic of lines: lines, by status", truth.by_status, found.by_status),
    ]
