"""Write a web log as Parquet files that have the columns of a topic's records. The right result of
the Spark job is known for this log.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_edu.clients.web_log.truth import LogTruth
    from kafka_edu.spark.pipeline_settings import PipelineSettings

LINES = 12_000
BATCHES = 3
PARTITIONS = 3
COLUMNS = "partition int, offset bigint, value binary, timestamp timestamp"


def settings_in(folder: Path) -> "PipelineSettings":
    from kafka_edu.spark.pipeline_settings import PipelineSettings

    return PipelineSettings(
        "", "", str(folder / "out"), str(folder / "checkpoint"), window_s=120, gap_s=180
    )


def write_records(folder: Path, settings: "PipelineSettings") -> "LogTruth":
    """Write a web log as Parquet files, and return the log's truth: the right result of the job.
    The last file ends with a line with a late time, which closes all windows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings
    from kafka_edu.clients.web_log.records import LogRecord, records
    from kafka_edu.spark.pipeline_log import clock_record

    made = LogGenerator(
        LogSettings(4, lines_a_second=4.0, window_s=settings.window_s, gap_s=settings.gap_s)
    )
    block = made.next_block(LINES)
    sent = list(records(block, made.text.lines(block)))
    folder.mkdir()

    def write(number: int, first: int, part: list[LogRecord]) -> None:
        offsets = range(first, first + len(part))
        table = pa.table(
            {
                "partition": pa.array([one % PARTITIONS for one in offsets], pa.int32()),
                "offset": pa.array([one // PARTITIONS for one in offsets], pa.int64()),
                "value": pa.array([one.value for one in part], pa.binary()),
                "timestamp": pa.array(
                    [one.timestamp_ms * 1000 for one in part], pa.timestamp("us", "UTC")
                ),
            }
        )
        pq.write_table(table, folder / f"{number}.parquet")

    size = LINES // BATCHES
    for number in range(BATCHES):
        write(number, number * size, sent[number * size : (number + 1) * size])
    write(BATCHES, LINES, [clock_record(made.truth.latest_s, settings)])
    return made.truth
