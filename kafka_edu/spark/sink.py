"""Write rows to Kafka topics: `df.write.format("kafka-edu")` and `writeStream` (spec W2).

The rows must have the column `value` (binary or string). They may have the columns `key`, `topic`,
`headers` and `partition`. Other columns are ignored, as in the official connector.

Each task writes with its own producer, and waits for all replicas in sync. By default, a task that
Spark repeats writes its rows again. With `delivery=exactly-once`, the rows of a stream have a
column `slot`, and each slot of a batch is written in one transaction (see `slot_transaction`). The
whole batch is not atomic: its slots are committed one after the other.
"""

import difflib
import logging
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructType,
)

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.sink_options import Delivery, SinkOptions
from kafka_edu.spark.slots import SLOT
from kafka_edu.spark.source_errors import ClusterError, SinkDataError

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_edu.spark.produce_client import ProduceClient, RecordWriter
    from kafka_edu.spark.slot_transaction import BatchOfTask, SlotTransaction

_log = logging.getLogger(__name__)
_BYTES: Final = (BinaryType, StringType)
_HEADERS: Final = "array<struct<key:string,value:binary>>"


class SinkMessage(WriterCommitMessage):
    """The report of one task to the driver."""

    def __init__(self, slots: tuple[str, ...], rows: int, skipped: int) -> None:
        self.slots = slots
        self.rows = rows
        self.skipped = skipped
        """The number of rows that were skipped, because an earlier attempt has committed them."""


def check_rows(schema: StructType, options: SinkOptions) -> None:
    """Raise SinkDataError if a required column is missing or a column has a wrong type."""
    types = {field.name: field.dataType for field in schema.fields}
    if "value" not in types:
        near = difflib.get_close_matches("value", types, 1)
        hint = f"did you mean {near[0]}?" if near else "select one as binary or string"
        raise SinkDataError(
            f"the rows have no column value: {hint} (their columns: {', '.join(types)})"
        )
    allowed: dict[str, tuple[type[DataType], ...]] = {
        "key": _BYTES,
        "value": _BYTES,
        "topic": (StringType,),
        "partition": (IntegerType,),
        SLOT: (StringType,),
    }
    if options.delivery is Delivery.AT_LEAST_ONCE:
        del allowed[SLOT]
    elif SLOT not in types:
        raise SinkDataError(
            "delivery is exactly-once, and the rows have no column slot: give them one with by_slot"
            " or by_source of kafka_edu.spark.slots"
        )
    for name, kinds in allowed.items():
        if name in types and not isinstance(types[name], kinds):
            wanted = " or ".join(kind.typeName() for kind in kinds)
            raise SinkDataError(
                f"column {name} is {types[name].simpleString()}: it must be {wanted}, so cast it"
            )
    if "headers" in types:
        headers = types["headers"]
        if not isinstance(headers, ArrayType) or headers.simpleString() != _HEADERS:
            raise SinkDataError(
                f"column headers is {headers.simpleString()}: it must be {_HEADERS}, so cast it"
            )
    if options.topic is None and "topic" not in types:
        raise SinkDataError(
            "no topic is named: give the option topic, or give each row a column topic"
        )


class KafkaEduBatchWriter(DataSourceArrowWriter):
    """Writes the rows of a DataFrame to topics, at least once."""

    def __init__(self, schema: StructType, overwrite: bool, options: SinkOptions) -> None:
        if overwrite:
            raise SinkDataError('a topic can only be appended to: use .mode("append")')
        check_rows(schema, options)
        self._options = options

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> WriterCommitMessage:
        return _write_rows(self._options, iterator)


class KafkaEduStreamWriter(DataSourceStreamArrowWriter):
    """Writes the rows of each micro-batch to topics, at least once. With slots it writes them
    exactly once.
    """

    def __init__(self, schema: StructType, options: SinkOptions) -> None:
        check_rows(schema, options)
        self._options = options

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> WriterCommitMessage:
        if self._options.delivery is Delivery.AT_LEAST_ONCE:
            return _write_rows(self._options, iterator)
        return _write_slots(self._options, iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Check that no slot had rows in two tasks. The tasks themselves have already committed all
        rows.
        """
        slots = Counter(
            slot for one in messages if isinstance(one, SinkMessage) for slot in one.slots
        )
        twice = [slot for slot, tasks in slots.items() if tasks > 1]
        if twice:
            raise SinkDataError(
                f"slot {min(twice)} has rows in {slots[min(twice)]} tasks of batch {batchId}: all"
                " rows of a slot must be in one task, so use by_slot as the last step"
            )

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Log which rows stay written. Spark repeats the batch, and then the committed slots are
        skipped.
        """
        done = [one for one in messages if isinstance(one, SinkMessage)]
        _log.warning(
            "batch %d failed after %d of %d tasks had written their rows",
            batchId,
            len(done),
            len(messages),
        )


def _write_rows(options: SinkOptions, batches: Iterator["pa.RecordBatch"]) -> SinkMessage:
    """Write the rows of one task at least once, and return its report."""
    from kafka_edu.spark.brokers import Refused
    from kafka_edu.spark.produce_client import ProduceClient, RecordWriter

    rows, turn = 0, random.randrange(1 << 20)
    with ProduceClient(options.producer) as client:
        writer = None
        for batch in batches:
            if batch.num_rows:
                writer = writer or RecordWriter(client, client.new_producer())
                _append(client, writer, batch, options, turn)
                try:
                    writer.flush()
                except Refused as refused:
                    raise ClusterError(str(refused)) from None
                rows, turn = rows + batch.num_rows, turn + 1
    return SinkMessage((), rows, 0)


def _write_slots(options: SinkOptions, batches: Iterator["pa.RecordBatch"]) -> SinkMessage:
    """Write the rows of one task, with one transaction for each slot. Commit the transactions at
    the end.
    """
    from kafka_edu.spark.produce_client import ProduceClient
    from kafka_edu.spark.slot_transaction import SlotTransaction

    name = batch_of_task()
    rows, skipped, turn = 0, 0, random.randrange(1 << 20)
    slots: dict[str, SlotTransaction] = {}
    with ProduceClient(options.producer) as client:
        try:
            for batch in batches:
                for slot, part in _by_slot(batch):
                    if slot not in slots:
                        slots[slot] = SlotTransaction(client, slot, name)
                    rows += part.num_rows
                    if slots[slot].is_committed:
                        skipped += part.num_rows
                    else:
                        touched = _append(client, slots[slot], part, options, turn)
                        slots[slot].flush(touched)
                turn += 1
            for transaction in slots.values():
                transaction.commit()
        except BaseException:
            for transaction in slots.values():
                transaction.abort()
            raise
    return SinkMessage(tuple(slots), rows, skipped)


def batch_of_task() -> "BatchOfTask":
    """Return the micro-batch to which this task belongs. Spark passes it to the task as
    properties.
    """
    from pyspark import TaskContext

    from kafka_edu.spark.slot_transaction import BatchOfTask

    task = TaskContext.get()
    properties = [
        task.getLocalProperty(key) if task else None
        for key in ("sql.streaming.queryId", "streaming.sql.batchId", "spark.jobGroup.id")
    ]
    if task is None or properties[0] is None or properties[1] is None:
        raise SinkDataError(
            "Spark gives this task no batch id, and delivery is exactly-once: use writeStream with"
            " a trigger of micro-batches, or delivery at-least-once"
        )
    return BatchOfTask(properties[0], int(properties[1]), properties[2] or "", task.partitionId())


def _by_slot(batch: "pa.RecordBatch") -> Iterator[tuple[str, "pa.RecordBatch"]]:
    """Yield the slots of an Arrow batch. Each slot comes with its rows in their original order."""
    import pyarrow.compute as pc

    column = batch.column(SLOT)
    if column.null_count:
        raise SinkDataError("a row has no slot: null is none, so give each row one with by_slot")
    found = pc.unique(column).to_pylist()
    for slot in found:
        yield str(slot), batch if len(found) == 1 else batch.filter(pc.equal(column, slot))


def _append(
    client: "ProduceClient",
    writer: "RecordWriter | SlotTransaction",
    batch: "pa.RecordBatch",
    options: SinkOptions,
    turn: int,
) -> list[TopicPartition]:
    """Pass the rows of an Arrow batch to the writer, partition by partition. Return the
    partitions.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from kafka_edu.spark.partitioner import partitions_of
    from kafka_edu.spark.record_encoder import Rows

    columns = set(batch.schema.names)
    touched = []
    for topic, part in _by_topic(batch, options.topic):
        rows = Rows(
            part.column("value").cast(pa.large_binary()),
            part.column("key").cast(pa.large_binary()) if "key" in columns else None,
            part.column("headers") if "headers" in columns else None,
        )
        layout = client.layout(topic)
        partitions = partitions_of(
            rows.keys,
            rows.sizes(),
            partition_count=layout.partition_count,
            available=layout.available,
            batch_bytes=options.producer.batch_size,
            turn=turn,
        )
        if "partition" in columns:
            wanted = part.column("partition")
            given = np.asarray(pc.fill_null(wanted, 0), np.int64)
            partitions = np.where(np.asarray(wanted.is_valid()), given, partitions)
            outside = (partitions < 0) | (partitions >= layout.partition_count)
            if outside.any():
                raise SinkDataError(
                    f"a row names partition {int(partitions[outside][0])} of topic {topic}, which"
                    f" has {layout.partition_count}: correct the column partition, or leave it out"
                )
        order = np.argsort(partitions, kind="stable")
        numbers, starts = np.unique(partitions[order], return_index=True)
        for number, indices in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
            tp = TopicPartition(topic, number)
            writer.append(tp, rows.take(indices))
            touched.append(tp)
    return touched


def _by_topic(batch: "pa.RecordBatch", topic: str | None) -> Iterator[tuple[str, "pa.RecordBatch"]]:
    import pyarrow.compute as pc

    if topic is not None:
        yield topic, batch
        return
    column = batch.column("topic")
    if column.null_count:
        raise SinkDataError("a row has no topic: give the option topic, or each row a topic")
    for name in pc.unique(column).to_pylist():
        yield name, batch.filter(pc.equal(column, name))
