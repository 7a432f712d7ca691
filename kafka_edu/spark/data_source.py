"""`spark.read.format("kafka-edu")`: a Python data source with the options and rows of Spark's own
Kafka connector (spec W2).

It needs no jar, while the official connector is not part of PySpark. Register it, then read:

    spark.dataSource.register(KafkaEduDataSource)
    spark.read.format("kafka-edu").option(
        "kafka.bootstrap.servers", "127.0.0.1:9092"
    ).option("subscribe", "web").load()

The driver fixes the offsets once. The range of each partition is one task, so a repeated task reads
the same records.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.cluster_reader import ClusterReader, OffsetRange, Row
from kafka_edu.spark.source_options import Bound, SourceOptions, parse_options

COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,"
    " timestampType int"
)
HEADERS = "headers array<struct<key string, value binary>>"

_ARROW = [
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", pa.timestamp("us", tz="UTC")),
    ("timestampType", pa.int32()),
]
_ARROW_HEADERS = ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))


class RangePartition(InputPartition):
    """The input of one task."""

    def __init__(self, wanted: OffsetRange) -> None:
        self.wanted = wanted


def to_arrow(rows: Sequence[Row], include_headers: bool) -> pa.RecordBatch:
    """Turn rows into one Arrow batch, column by column."""
    columns: list[list[object]] = [list(column) for column in zip(*rows, strict=True)]
    columns[5] = [ms * 1000 for ms in (row.timestamp_ms for row in rows)]
    fields = [*_ARROW, _ARROW_HEADERS] if include_headers else _ARROW
    if include_headers:
        columns[7] = [[{"key": key, "value": value} for key, value in row.headers] for row in rows]
    arrays = [
        pa.array(column, type=kind) for column, (_, kind) in zip(columns, fields, strict=False)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _read(options: SourceOptions, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    if not isinstance(partition, RangePartition):
        raise TypeError(f"not a partition of ours: {partition!r}")
    with ClusterReader(options) as reader:
        for rows in reader.read(partition.wanted):
            yield to_arrow(rows, options.include_headers)


class KafkaEduBatchReader(DataSourceReader):
    """Reads the records between two sets of offsets."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        with ClusterReader(self._options) as reader:
            start = reader.resolve(self._options.starting or Bound.EARLIEST, "startingOffsets")
            end = reader.resolve(self._options.ending, "endingOffsets")
        return [
            RangePartition(OffsetRange(*tp, start[tp], max(start[tp], end[tp])))
            for tp in sorted(start)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._options, partition)


def _to_json(offsets: dict[TopicPartition, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for tp in sorted(offsets):
        found.setdefault(tp.topic, {})[str(tp.partition)] = offsets[tp]
    return found


def _from_json(offsets: dict[str, dict[str, int]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(p)): offset
        for topic, partitions in offsets.items()
        for p, offset in partitions.items()
    }


class KafkaEduStreamReader(DataSourceStreamReader):
    """Reads records as they arrive. Its offsets are the connector's JSON: topic → partition → next
    offset to read.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def initialOffset(self) -> dict[str, dict[str, int]]:
        with ClusterReader(self._options) as reader:
            return _to_json(
                reader.resolve(self._options.starting or Bound.LATEST, "startingOffsets")
            )

    def latestOffset(
        self, start: dict[str, dict[str, int]] | None = None, limit: object = None
    ) -> dict[str, dict[str, int]]:
        with ClusterReader(self._options) as reader:
            latest = reader.resolve(Bound.LATEST, "endingOffsets")
        cap = self._options.max_offsets_per_trigger
        if start is None or cap is None:
            return _to_json(latest)
        begun = _from_json(start)
        each = max(cap // max(len(latest), 1), 1)
        return _to_json({tp: min(end, begun.get(tp, 0) + each) for tp, end in latest.items()})

    def partitions(
        self, start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]
    ) -> Sequence[InputPartition]:
        begun, ended = _from_json(start), _from_json(end)
        return [
            RangePartition(OffsetRange(*tp, begun.get(tp, 0), ended[tp]))
            for tp in sorted(ended)
            if ended[tp] > begun.get(tp, 0)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._options, partition)

    def commit(self, end: dict[str, dict[str, int]]) -> None:
        """Do nothing, because Spark keeps the offsets in its checkpoint."""


class KafkaEduDataSource(DataSource):
    """The data source that Spark registers."""

    @classmethod
    def name(cls) -> str:
        return "kafka-edu"

    def schema(self) -> str:
        return f"{COLUMNS}, {HEADERS}" if parse_options(self.options).include_headers else COLUMNS

    def reader(self, schema: StructType) -> DataSourceReader:
        return KafkaEduBatchReader(parse_options(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return KafkaEduStreamReader(parse_options(self.options))
