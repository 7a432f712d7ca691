"""Convert the pipeline's rows to records for topics (`topic_answers` reads these records back).

The key of a window's record is the window's begin. The key of a line's record is the line's client:

    2018-08-01T20:15:00.000Z   {"begin":"2018-08-01T20:15:00.000Z","lines":311,"errors":4,
                                "error_rate":0.0128,"p99_us":913000}
    10.0.3.7                   {"partition":2,"offset":4711,"kind":"good","time":…,"path":…}

**Exactly once.** Our own connector divides the records of a micro-batch among slots, and writes
each slot in a transaction (`sink`). The slot of a window is a hash of its record, so a record gets
the same slot again when a batch is repeated. The slot of a line is the partition from which it was
read, so its row can stay in the task that has read it. The official connector has no transactions.
With it, the records of a repeated batch are in the topic twice.
"""

from typing import TYPE_CHECKING, Final

from kafka_edu.spark.connectors import Connector
from kafka_edu.spark.sink_options import Delivery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kafka_edu.spark.pipeline_settings import PipelineSettings

#: The number of slots for windows. It must not change as long as a checkpoint is used. If a batch
#: is repeated with another number, its rows are in other slots and are written a second time.
WINDOW_SLOTS: Final = 2
#: How times are written in JSON, independent of the session's own time zone.
_JSON: Final = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"}
_LINE_FIELDS: Final = (
    "partition",
    "offset",
    "kind",
    "time",
    "client",
    "method",
    "path",
    "status",
    "size",
    "duration_us",
)


def window_records(windows: "DataFrame") -> "DataFrame":
    """Return a record (key, value and slot) for each row of `pipeline.windows`."""
    from pyspark.sql.functions import get_json_object, struct, to_json

    from kafka_edu.spark.slots import by_slot

    fields = struct("begin", "lines", "errors", "error_rate", "p99_us")
    values = windows.select(to_json(fields, _JSON).alias("value"))
    keyed = values.select(get_json_object("value", "$.begin").alias("key"), "value")
    return by_slot(keyed, WINDOW_SLOTS, "value")


def line_records(parsed: "DataFrame", topic: str) -> "DataFrame":
    """Return a record (key, value and slot) for each readable line of `pipeline_lines.parse`, also
    for lines that are too late. `topic` is the topic from which the lines were read.
    """
    from pyspark.sql.functions import col, lit, struct, to_json

    from kafka_edu.spark.pipeline_lines import GOOD, TOO_LATE
    from kafka_edu.spark.slots import by_source

    read = parsed.where(col("kind").isin(GOOD, TOO_LATE)).withColumn("topic", lit(topic))
    value = to_json(struct(*_LINE_FIELDS), _JSON).alias("value")
    return by_source(read).select(col("client").alias("key"), value, "slot")


def writer_options(settings: "PipelineSettings", topic: str, delivery: Delivery) -> dict[str, str]:
    """Return the options for writing records to a topic. The official connector has no option
    `delivery`, and always writes at least once.
    """
    options = {"kafka.bootstrap.servers": settings.bootstrap_servers, "topic": topic}
    return options | (
        {"delivery": delivery.value} if settings.connector is Connector.PYTHON else {}
    )
