"""A topic of answers is read up to the end that it had when the reading began."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark import topic_answers

TP = TopicPartition("windows", 0)


class Row(NamedTuple):
    value: bytes


class GrowingTopic:
    """A consumer of one partition. A query writes to this partition while the consumer reads."""

    def __init__(self, end: int) -> None:
        self._end = end
        self._at = 0

    def partitions_for(self, topic: str) -> list[TopicPartition]:
        return [TP]

    def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {TP: self._end}

    def assign(self, partitions: list[TopicPartition]) -> None: ...

    def seek_to_beginning(self) -> None: ...

    def position(self, tp: TopicPartition) -> int:
        return self._at

    def poll(self, timeout_ms: float) -> list[Row]:
        """Return two records. The last one may be newer than the end that was asked for."""
        rows = [
            Row(json.dumps({"partition": 0, "offset": at, "status": 200}).encode())
            for at in (self._at, self._at + 1)
        ]
        self._at += 2
        return rows


def test_reading_ends_though_a_query_still_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def reader(servers: str, topic: str, isolation_level: str) -> Iterator[GrowingTopic]:
        yield GrowingTopic(3)

    monkeypatch.setattr(topic_answers, "topic_reader", reader)
    found = topic_answers.read_lines("broker:9092", TP.topic)
    assert found.records == 4, "three records to the end, and one that came meanwhile"
