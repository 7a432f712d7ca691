"""The data source's requests to the cluster, made by an unmodified client (kafka-python).

The driver asks for offsets, the executors for records.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kafka import KafkaConsumer
from kafka import TopicPartition as ClientPartition

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.source_options import (
    EARLIEST,
    LATEST,
    Bound,
    Offsets,
    SourceOptionError,
    SourceOptions,
)

POLL_MS = 1_000
STALLED_POLLS = 60


class OffsetRange(NamedTuple):
    """Records `start` ≤ offset < `end` of one partition: the input of one Spark task."""

    topic: str
    partition: int
    start: int
    end: int


class Row(NamedTuple):
    """One record, as the official connector shows it.

    `timestamp_ms` counts from 1970. `timestamp_type` is 0 for CreateTime, 1 for LogAppendTime.
    """

    key: bytes | None
    value: bytes | None
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: int
    headers: list[tuple[str, bytes | None]]


class ClusterReader:
    """One consumer without a group. Its `with` block closes it."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        number = {
            name: int(value) if value.lstrip("-").isdigit() else value
            for name, value in options.consumer.items()
        }
        self._consumer = KafkaConsumer(
            bootstrap_servers=options.bootstrap_servers.split(","),
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            **number,
        )

    def __enter__(self) -> "ClusterReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions that the options select. Raises SourceOptionError if one does not
        exist.
        """
        found: list[TopicPartition] = []
        for topic in self._options.topics:
            there = self._consumer.partitions_for_topic(topic)
            if not there:
                raise SourceOptionError(
                    f"topic {topic} does not exist on {self._options.bootstrap_servers}"
                )
            wanted = (
                sorted(there) if self._options.assigned is None else self._options.assigned[topic]
            )
            if missing := sorted(set(wanted) - set(there)):
                raise SourceOptionError(
                    f"topic {topic} has no partition {missing[0]}: it has {len(there)}"
                )
            found += [TopicPartition(topic, p) for p in wanted]
        return found

    def resolve(self, bound: Bound | Offsets, name: str) -> dict[TopicPartition, int]:
        """Return an offset for every partition.

        Turns the names earliest and latest, and −2 and −1 within JSON, into numbers.
        """
        partitions = self.partitions()
        clients = [ClientPartition(*tp) for tp in partitions]
        earliest = {
            TopicPartition(tp.topic, tp.partition): int(o)
            for tp, o in self._consumer.beginning_offsets(clients).items()
        }
        latest = {
            TopicPartition(tp.topic, tp.partition): int(o)
            for tp, o in self._consumer.end_offsets(clients).items()
        }
        if bound is Bound.EARLIEST:
            return earliest
        if bound is Bound.LATEST:
            return latest
        if not isinstance(bound, Mapping):
            raise SourceOptionError(f"option {name} is {bound!r}")
        resolved: dict[TopicPartition, int] = {}
        for tp in partitions:
            offset = bound.get(tp.topic, {}).get(tp.partition)
            if offset is None:
                raise SourceOptionError(
                    f"option {name} says nothing of partition {tp}: give an offset for each, -2 for"
                    " earliest, -1 for latest"
                )
            resolved[tp] = {EARLIEST: earliest[tp], LATEST: latest[tp]}.get(offset, offset)
            if self._options.fail_on_data_loss and not earliest[tp] <= resolved[tp] <= latest[tp]:
                raise SourceOptionError(
                    f"option {name}: {tp} has offsets {earliest[tp]} to {latest[tp]}, not"
                    f" {resolved[tp]} (failOnDataLoss=true)"
                )
            resolved[tp] = min(max(resolved[tp], earliest[tp]), latest[tp])
        return resolved

    def read(self, wanted: OffsetRange) -> Iterator[list[Row]]:
        """Yield the records of a range in order, one poll at a time.

        Raises TimeoutError if the cluster sends nothing for a minute.
        """
        if wanted.start >= wanted.end:
            return
        tp = ClientPartition(wanted.topic, wanted.partition)
        self._consumer.assign([tp])
        self._consumer.seek(tp, wanted.start)
        empty = 0
        while self._consumer.position(tp) < wanted.end:
            records = self._consumer.poll(timeout_ms=POLL_MS, max_records=10_000).get(tp, [])
            empty = 0 if records else empty + 1
            if empty >= STALLED_POLLS:
                raise TimeoutError(
                    f"{tp.topic}-{tp.partition} gave nothing for {STALLED_POLLS * POLL_MS // 1000}"
                    f" s at {self._consumer.position(tp)}"
                )
            rows = [
                Row(
                    r.key,
                    r.value,
                    r.topic,
                    r.partition,
                    r.offset,
                    r.timestamp,
                    r.timestamp_type,
                    list(r.headers),
                )
                for r in records
                if r.offset < wanted.end
            ]
            if rows:
                yield rows
