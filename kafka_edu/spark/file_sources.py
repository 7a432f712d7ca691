"""Two data sources of Spark that read files: segments of a log, and recordings of events.

    spark.read.format("kafka-edu-segments").option("rows", "batches").load("/data/broker-1/logs")
    spark.read.format("kafka-edu-events").load("run.jsonl.gz")

Each file becomes one Spark partition, which one task reads. The path must lead to the same files on
every worker. The next hops are `segment_rows` and `event_rows`. docs/spark-files.md describes the
options and columns, with examples.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from kafka_edu.log.log_file_names import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX
from kafka_edu.spark.file_options import (
    EVENT_OPTIONS,
    PAGE,
    SEGMENT_OPTIONS,
    SegmentFile,
    checked,
    segment_files,
)
from kafka_edu.spark.source_errors import SourceOptionError

if TYPE_CHECKING:
    import pyarrow as pa

RECORD_COLUMNS: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,"
    " timestampType int"
)
_HEADERS: Final = "headers array<struct<key string, value binary>>"
_BATCH_COLUMNS: Final = (
    "topic string, partition int, file string, position bigint, bytes int, magic int, codec string,"
    " baseOffset bigint, lastOffset bigint, records int, leaderEpoch int, producerId bigint,"
    " producerEpoch int, baseSequence int, transactional boolean, control boolean,"
    " timestampType int, maxTimestamp timestamp, crc bigint, crcRight boolean,"
    " uncompressedBytes bigint"
)
_INDEX_COLUMNS: Final = (
    "topic string, partition int, file string, index string, entry bigint, offset bigint,"
    " position bigint, timestamp timestamp"
)
_EVENT_COLUMNS: Final = (
    "file string, time timestamp, monoUs bigint, source string, broker int, number bigint,"
    " cause bigint, event string, kind string, topic string, partition int, group string,"
    " api string, totalUs bigint"
)


class FilePartition(InputPartition):
    """The input of one task: one file."""

    def __init__(self, path: str, segment: SegmentFile | None = None) -> None:
        self.path = path
        self.segment = segment


class SegmentReader(DataSourceReader):
    """Reads segment files. Its rows are records, batches or index entries."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        suffixes: tuple[str, ...] = (LOG_SUFFIX,)
        if options["rows"] == "index":
            suffixes = (INDEX_SUFFIX, TIME_INDEX_SUFFIX)
        files = segment_files(options["path"], suffixes, options["topic"])
        return [FilePartition(file.path, file) for file in files]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        from kafka_edu.spark.segment_rows import batch_rows, index_rows, record_batches

        if not isinstance(partition, FilePartition) or partition.segment is None:
            return
        options, file = self._options, partition.segment
        fail = options["failOnDamage"] == "true"
        check_crcs = options["checkCrcs"] == "true"
        match options["rows"]:
            case "index":
                yield from index_rows(file, fail_on_damage=fail)
            case "batches":
                yield from batch_rows(
                    file,
                    check_crcs=check_crcs,
                    decompressed=options["decompress"] == "true",
                    fail_on_damage=fail,
                )
            case _:
                yield from record_batches(
                    file,
                    check_crcs=check_crcs,
                    include_headers=options["includeHeaders"] == "true",
                    fail_on_damage=fail,
                )


class EventReader(DataSourceReader):
    """Reads recordings of events. Its rows are events."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        from kafka_edu.spark.event_rows import event_names, recording_files

        event_names(self._options["events"])  # a wrong name is refused before any task runs
        return [FilePartition(path) for path in recording_files(self._options["path"])]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        from kafka_edu.spark.event_rows import event_names, event_rows

        if isinstance(partition, FilePartition):
            yield from event_rows(
                partition.path,
                event_names(self._options["events"]),
                as_map=self._options["fields"] == "map",
                fail_on_damage=self._options["failOnDamage"] == "true",
            )


def _no_stream(name: str) -> SourceOptionError:
    return SourceOptionError(
        f'format("{name}") reads files as they are and does not follow them: use spark.read instead'
        f" of spark.readStream; {PAGE} has examples"
    )


class SegmentDataSource(DataSource):
    """The data source `kafka-edu-segments`, which reads segment files."""

    @classmethod
    def name(cls) -> str:
        return "kafka-edu-segments"

    def schema(self) -> str:
        options = checked(self.options, SEGMENT_OPTIONS)
        match options["rows"]:
            case "batches":
                return _BATCH_COLUMNS
            case "index":
                return _INDEX_COLUMNS
        headers = f", {_HEADERS}" if options["includeHeaders"] == "true" else ""
        return f"{RECORD_COLUMNS}{headers}, file string"

    def reader(self, schema: StructType) -> DataSourceReader:
        return SegmentReader(checked(self.options, SEGMENT_OPTIONS))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        raise _no_stream(self.name())


class EventDataSource(DataSource):
    """The data source `kafka-edu-events`, which reads recordings of events."""

    @classmethod
    def name(cls) -> str:
        return "kafka-edu-events"

    def schema(self) -> str:
        options = checked(self.options, EVENT_OPTIONS)
        fields = "map<string, string>" if options["fields"] == "map" else "string"
        return f"{_EVENT_COLUMNS}, fields {fields}"

    def reader(self, schema: StructType) -> DataSourceReader:
        return EventReader(checked(self.options, EVENT_OPTIONS))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        raise _no_stream(self.name())
