"""Add a slot to each row. A slot is the unit that the sink writes exactly once.

When Spark repeats a micro-batch, each slot must get the same rows again. So the slot must follow
from the data: from a hash of columns (`by_slot`), or from the partition that the source has read
(`by_source`). The number of a Spark task cannot be used, because after a restart the tasks get
their partitions in a different order.
"""

from typing import TYPE_CHECKING, Final

from kafka_edu.spark.source_errors import SinkDataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SLOT: Final = "slot"


def by_slot(frame: "DataFrame", count: int, *columns: str) -> "DataFrame":
    """Add the column `slot` with one of `count` values, and move all rows of a slot into one task.

    The slot is a hash of `columns`, or of all columns. These columns must have the same values when
    a batch is repeated. The results of `uuid()` and `rand()` differ each time. Call this as the
    last step before `writeStream`.
    """
    from pyspark.sql.functions import concat, lit, pmod, xxhash64

    if count < 1:
        raise SinkDataError(f"{count} slots: give 1 or more, such as the number of cores")
    number = pmod(xxhash64(*(columns or frame.columns)), lit(count))
    named = concat(number.cast("string"), lit(f"-of-{count}"))
    return frame.withColumn(SLOT, named).repartition(count, SLOT)


def by_source(frame: "DataFrame") -> "DataFrame":
    """Add the column `slot` with the topic and partition from which each row was read.

    `frame` must be the result of the source, with its columns `topic` and `partition`. The rows
    stay in their tasks. Use this only for a query without a shuffle. The source must not use
    minPartitions or maxRecordsPerPartition, because they divide a partition among several tasks.
    """
    from pyspark.sql.functions import concat_ws

    missing = [name for name in ("topic", "partition") if name not in frame.columns]
    if missing:
        raise SinkDataError(
            f"the rows have no column {missing[0]}: call by_source on what the source returned,"
            " before select"
        )
    return frame.withColumn(SLOT, concat_ws("-", "topic", frame["partition"].cast("string")))
