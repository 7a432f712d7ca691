"""`spark.read.format("kafka-edu")`: a Python data source with the options and rows of Spark's own
Kafka connector (spec W2).

It needs no jar. (The jars of the official connector are not part of PySpark.) Register the data
source, and then read:

    from kafka_edu.spark.data_source import register
    register(spark)
    spark.readStream.format("kafka-edu").option(
        "kafka.bootstrap.servers", "127.0.0.1:9092"
    ).option("subscribe", "web").load()

The driver decides the offsets of a batch, or of each micro-batch, before the tasks run. Each task
gets a fixed range of offsets, so a repeated task reads the same records. The next hop is
`fetch_client`, and then `arrow_records`.

docs/spark-options.md lists the options, and the differences from the official connector.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.code_zip import send_code
from kafka_edu.spark.fetch_client import FetchClient, Layout
from kafka_edu.spark.file_sources import EventDataSource, SegmentDataSource
from kafka_edu.spark.notices import give_notice
from kafka_edu.spark.sink import KafkaEduBatchWriter, KafkaEduStreamWriter
from kafka_edu.spark.sink_options import parse_sink_options
from kafka_edu.spark.source_errors import DataLossError, SourceOptionError
from kafka_edu.spark.source_options import (
    AtTime,
    Bound,
    Position,
    SourceOptions,
    parse_options,
)
from kafka_edu.spark.source_planning import (
    Losses,
    OffsetRange,
    StreamOffset,
    admit,
    batch_ranges,
    check_topics,
    data_loss,
    judge,
    loss_notice,
    move_inside,
    resolve,
    split,
    stream_ranges,
    wanted_times,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

COLUMNS: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,"
    " timestampType int"
)
HEADERS: Final = "headers array<struct<key string, value binary>>"

StreamJson = dict[str, dict[str, int | str]]


def register(spark: "SparkSession") -> None:
    """Register our three formats with a session: `kafka-edu`, and the two formats of
    `file_sources`. Call this once for each session.

    On a cluster, this also sends our code to the executors. They need only numpy and pyarrow.
    """
    send_code(spark)
    for source in (KafkaEduDataSource, SegmentDataSource, EventDataSource):
        spark.dataSource.register(source)


class RangePartition(InputPartition):
    """The input of one task: a range of offsets of one partition."""

    def __init__(self, wanted: OffsetRange) -> None:
        self.wanted = wanted


def _read(options: SourceOptions, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
    """Read one range of offsets in a worker, and yield its rows. numpy and pyarrow are imported
    only here.
    """
    from kafka_edu.spark.arrow_records import Wanted, decode, next_offset

    if not isinstance(partition, RangePartition):
        return  # Spark passes this for a batch without partitions
    topic, number, start, end, _ = partition.wanted
    wanted = Wanted(topic, number, start, end, options.consumer.check_crcs, options.include_headers)
    with FetchClient(options.consumer) as client:
        for fetched in client.read_range(
            partition.wanted,
            next_offset=next_offset,
            fail_on_data_loss=options.fail_on_data_loss,
            poll_timeout_ms=options.poll_timeout_ms,
        ):
            there = wanted._replace(start=max(start, fetched.start))
            yield from decode(fetched.records, there, fetched.aborted)


def _partitions(options: SourceOptions, ranges: Sequence[OffsetRange]) -> list[InputPartition]:
    tasks = split(ranges, options.min_partitions, options.max_records_per_partition)
    return [RangePartition(task) for task in tasks]


def _allowed(losses: Losses, options: SourceOptions) -> list[OffsetRange]:
    """Return the ranges to read, and show the user what is lost. Raises DataLossError if the query
    must not lose anything.
    """
    ranges = judge(losses, options.fail_on_data_loss)
    for line in losses.lost:
        give_notice(loss_notice(line))
    return ranges


class _Planner:
    """Gets the data from the brokers that the pure functions of `source_planning` need."""

    def __init__(self, options: SourceOptions) -> None:
        self.options = options
        self.client = FetchClient(
            options.consumer, options.offset_retries + 1, options.offset_retry_ms
        )

    def layout(self) -> Layout:
        """Return the partitions that the query reads. Raises SourceOptionError if the user has
        named a partition that does not exist.
        """
        found = self.client.layout(self.options.topics)
        if found.missing:
            raise SourceOptionError(
                f"{found.missing[0]} does not exist on {self.client.servers}: create it, or correct"
                " the option that names it"
            )
        return found

    def offsets(
        self,
        name: str,
        position: Position,
        ends: tuple[dict[TopicPartition, int], dict[TopicPartition, int]],
        time_without_record: Bound | None,
    ) -> dict[TopicPartition, int]:
        """Return each partition's offset for the option `name`, which says where to begin or end.

        `ends` are the first offsets and the end offsets of all partitions.
        """
        times = {}
        if isinstance(position, AtTime):
            times = self.client.offsets_for_times(wanted_times(name, position, list(ends[0])))
        return resolve(name, position, *ends, times, time_without_record)

    def ends(self, layout: Layout) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
        """Return the first offset and the end offset of each partition."""
        return self.client.earliest(layout.partitions), self.client.latest(layout.partitions)


class KafkaEduBatchReader(DataSourceReader):
    """The reader of a batch query. It reads the records between two fixed sets of offsets."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        planner = _Planner(options)
        with planner.client:
            layout = planner.layout()
            ends = planner.ends(layout)
            start = planner.offsets(
                "startingOffsets",
                options.starting or Bound.EARLIEST,
                ends,
                options.time_without_record,
            )
            end = planner.offsets("endingOffsets", options.ending, ends, Bound.LATEST)
        losses = batch_ranges(start, end, *ends, layout.topic_ids)
        return _partitions(options, _allowed(losses, options))

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        return _read(self._options, partition)


class KafkaEduStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of a streaming query. It reads new records, one micro-batch after the other.

    Its offsets have the JSON of the official connector, topic → partition → next offset to read.
    The ids of the topics are added under a separate key. Spark keeps this object in one process of
    the driver as long as the query runs. Therefore it can remember the time of the last
    micro-batch.
    """

    def __init__(
        self, options: SourceOptions, now_ms: Callable[[], float] = lambda: time.monotonic() * 1000
    ) -> None:
        self._options = options
        self._now_ms = now_ms
        self._open: _Planner | None = None
        self._last_batch_ms: float | None = None
        self._available_now: StreamOffset | None = None
        self._initial: StreamJson | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return the state that a worker needs to call `read`. Connections are left out, because
        they belong to the driver.
        """
        return {"_options": self._options}

    def __setstate__(self, state: Mapping[str, SourceOptions]) -> None:
        KafkaEduStreamReader.__init__(self, state["_options"])

    @property
    def _planner(self) -> _Planner:
        if self._open is None:
            self._open = _Planner(self._options)
        return self._open

    def initialOffset(self) -> StreamJson:
        """Return the offsets at which a query without a checkpoint begins. They are looked up once.

        Spark calls this method twice before the first micro-batch: once to plan where the
        micro-batch ends, and once to read it. With startingOffsets=latest a second look-up would
        find a later end of the log, and the micro-batch would end before its start.
        """
        if self._initial is None:
            self._initial = self._looked_up()
        return self._initial

    def _looked_up(self) -> StreamJson:
        planner = self._planner
        layout = planner.layout()
        ends = planner.ends(layout)
        wanted = planner.offsets(
            "startingOffsets",
            self._options.starting or Bound.LATEST,
            ends,
            self._options.time_without_record,
        )
        offsets, lost = move_inside("startingOffsets", wanted, *ends)
        _allowed(Losses([], lost), self._options)
        return StreamOffset(offsets, layout.topic_ids).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return one read limit, because Spark accepts no combination of two. `latestOffset` obeys
        both limits.
        """
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._available_now = self._latest()

    def _latest(self) -> StreamOffset:
        planner = self._planner
        layout = planner.client.layout(self._options.topics)
        if layout.missing and self._options.fail_on_data_loss:
            raise DataLossError(data_loss(f"{layout.missing[0]} does not exist (any more)"))
        return StreamOffset(planner.client.latest(layout.partitions), layout.topic_ids)

    def reportLatestOffset(self) -> StreamJson:
        return (self._available_now or self._latest()).to_json()

    def latestOffset(self, start: StreamJson, limit: ReadLimit) -> StreamJson:
        """Return the offsets at which this micro-batch ends. If they are equal to `start`, there is
        nothing to read yet.

        With AvailableNow, the end is never after the end that the topics had when the query began,
        and minOffsetsPerTrigger is ignored.
        """
        begun = self._begun(start)
        latest = self._available_now or self._latest()
        new = [tp for tp in latest.offsets if tp not in begun.offsets]
        lows = {**begun.offsets, **(self._planner.client.earliest(new) if new else {})}
        options, now = self._options, self._now_ms()
        is_first = start == self._initial and options.starting is not Bound.EARLIEST
        everything = isinstance(limit, ReadAllAvailable)
        wait = not everything and self._available_now is None
        waited = float("inf") if self._last_batch_ms is None else now - self._last_batch_ms
        end = admit(
            lows,
            latest.offsets,
            most=None if everything else options.max_offsets_per_trigger,
            least=options.min_offsets_per_trigger if wait else None,
            waited_ms=waited,
            max_delay_ms=options.max_trigger_delay_ms,
        )
        if end is None:
            return start
        self._last_batch_ms = now
        if is_first:  # Spark runs the first micro-batch even if it is empty
            return StreamOffset(end, latest.topic_ids, begun.offsets).to_json()
        if end == begun.offsets and latest.topic_ids == begun.topic_ids:
            return start
        return StreamOffset(end, latest.topic_ids).to_json()

    def _begun(self, start: StreamJson) -> StreamOffset:
        """Return the offset at which a micro-batch begins. Spark may have read it from a
        checkpoint.

        Raises CheckpointError if another query has written the checkpoint.
        """
        begun = StreamOffset.from_json(start)
        check_topics(begun, self._options.topics, self._options.fail_on_data_loss)
        return begun

    def partitions(self, start: StreamJson, end: StreamJson) -> Sequence[InputPartition]:
        begun, ended = self._begun(start), StreamOffset.from_json(end)
        if start == self._initial and ended.began:
            # Perhaps an earlier run has planned this first micro-batch. Since then, the offsets at
            # which a new query begins may have moved.
            begun = StreamOffset(dict(ended.began), ended.topic_ids)
        client = self._planner.client
        layout = client.layout(self._options.topics)
        there = [tp for tp in layout.partitions if tp in ended.offsets]
        losses = stream_ranges(begun, ended, client.earliest(there), layout.topic_ids)
        return _partitions(self._options, _allowed(losses, self._options))

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        return _read(self._options, partition)

    def commit(self, end: StreamJson) -> None:
        """Do nothing, because Spark itself keeps the offsets in its checkpoint."""

    def stop(self) -> None:
        if self._open is not None:
            self._open.client.close()


class KafkaEduDataSource(DataSource):
    """The data source class that Spark registers as `kafka-edu`."""

    @classmethod
    def name(cls) -> str:
        return "kafka-edu"

    def schema(self) -> str:
        return f"{COLUMNS}, {HEADERS}" if parse_options(self.options).include_headers else COLUMNS

    def reader(self, schema: StructType) -> DataSourceReader:
        return KafkaEduBatchReader(parse_options(self.options, streaming=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return KafkaEduStreamReader(parse_options(self.options, streaming=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        options = parse_sink_options(self.options, streaming=False)
        return KafkaEduBatchWriter(schema, overwrite, options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return the sink of a streaming query. Spark passes both arguments by name."""
        return KafkaEduStreamWriter(schema, parse_sink_options(self.options, streaming=True))
