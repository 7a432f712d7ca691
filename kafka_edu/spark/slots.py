"""Give rows a slot, the unit that the sink writes exactly once.

A slot must hold the same rows again when Spark repeats a micro-batch. So it follows from the data:
from a hash of columns (`by_slot`), or from the partition that the source read (`by_source`). The
number of Spark's task does not serve. After a restart, tasks get their partitions in another order.
"""

from typing import TYPE_CHECKING, Final

from kafka_edu.spark.source_errors import SinkDataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SLOT: Final = "slot"


def by_slot(frame: "DataFrame", count: int, *columns: str) -> "DataFrame":
    """Add the column `slot`, one of `count`, and move the rows of each slot into one task.

    The slot is a hash of `columns`, or of all columns. They must be the same when a batch is
    repeated: `uuid()` and `rand()` are not. Use it as the last step before `writeStream`.
    """
    from pyspark.sql.functions import concat, lit, pmod, xxhash64

    if count < 1:
        raise SinkDataError(f"{count} slots: give 1 or more, such as the number of cores")
    number = pmod(xxhash64(*(columns or frame.columns)), lit(count))
    named = concat(number.cast("string"), lit(f"-of-{count}"))
    return frame.withColumn(SLOT, named).repartition(count, SLOT)


def by_source(frame: "DataFrame") -> "DataFrame":
    """Add the column `slot`, the topic and partition that each row was read from.

    `frame` is what the source returned, with its columns `topic` and `partition`. The rows stay in
    their tasks. That suits a query without shuffle, and a source without minPartitions and
    maxRecordsPerPartition, because those split a partition into several tasks.
    """
    from pyspark.sql.functions import concat_ws

    missing = [name for name in ("topic", "partition") if name not in frame.columns]
    if missing:
        raise SinkDataError(
            f"the rows have no column {missing[0]}: call by_source on what the source returned,"
            " before select"
        )
    return frame.withColumn(SLOT, concat_ws("-", "topic", frame["partition"].cast("string")))
