"""The pipeline's rows as records of topics (`topic_answers` reads them back).

A window is a record with its begin as the key, and a line has its client as the key:

    2018-08-01T20:15:00.000Z   {"begin":"2018-08-01T20:15:00.000Z","lines":311,"errors":4,
                                "error_rate":0.0128,"p99_us":913000}
    10.0.3.7                   {"partition":2,"offset":4711,"kind":"good","time":…,"path":…}

**Exactly once.** Our own connector writes each slot of a micro-batch in a transaction (`sink`). A
window's slot is a hash of its record, so a record has the same slot when a batch is repeated. A
line's slot is the partition that it was read from, so no row has to move to another task. Spark's
own connector has no transactions: a repeated batch is there twice.
"""

from typing import TYPE_CHECKING, Final

from kafka_edu.spark.connectors import Connector
from kafka_edu.spark.sink_options import Delivery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kafka_edu.spark.pipeline_settings import PipelineSettings

#: The slots of the windows. A checkpoint is good for one number: a batch that is repeated with
#: another number has its rows in other slots, and is written again.
WINDOW_SLOTS: Final = 2
#: How a time is written, whatever the session's own time zone is.
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
    """Return key, value and slot of each row of `pipeline.windows`."""
    from pyspark.sql.functions import get_json_object, struct, to_json

    from kafka_edu.spark.slots import by_slot

    fields = struct("begin", "lines", "errors", "error_rate", "p99_us")
    values = windows.select(to_json(fields, _JSON).alias("value"))
    keyed = values.select(get_json_object("value", "$.begin").alias("key"), "value")
    return by_slot(keyed, WINDOW_SLOTS, "value")


def line_records(parsed: "DataFrame", topic: str) -> "DataFrame":
    """Return key, value and slot of each line of `pipeline_lines.parse` that could be read, also of
    those that are too late. `topic` is the one that they were read from.
    """
    from pyspark.sql.functions import col, lit, struct, to_json

    from kafka_edu.spark.pipeline_lines import GOOD, TOO_LATE
    from kafka_edu.spark.slots import by_source

    read = parsed.where(col("kind").isin(GOOD, TOO_LATE)).withColumn("topic", lit(topic))
    value = to_json(struct(*_LINE_FIELDS), _JSON).alias("value")
    return by_source(read).select(col("client").alias("key"), value, "slot")


def writer_options(settings: "PipelineSettings", topic: str, delivery: Delivery) -> dict[str, str]:
    """Return the options that write records to a topic. Spark's own connector has no `delivery`,
    and always writes at least once.
    """
    options = {"kafka.bootstrap.servers": settings.bootstrap_servers, "topic": topic}
    return options | (
        {"delivery": delivery.value} if settings.connector is Connector.PYTHON else {}
    )
