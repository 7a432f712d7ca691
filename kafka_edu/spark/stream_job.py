"""Run the pipeline's stream in a separate process, so that a chapter can kill it at any moment.

    python -m kafka_edu.spark.stream_job MASTER SETTINGS

SETTINGS is a text that `PipelineSettings.to_json` has made. If there is a checkpoint, the job
continues from it. A line of JSON on the job's standard input gives the end offset of each
partition, for example {"0": 7120, "1": 6911}. The job ends when every query has written everything
that follows from the records before these offsets. This includes the windows that the last records
close.
"""

import json
import sys
import threading
from types import MappingProxyType
from typing import Final

from kafka_edu.spark.connectors import start_session
from kafka_edu.spark.pipeline import Stream, read_topic_stream, run_stream
from kafka_edu.spark.pipeline_settings import PipelineSettings
from kafka_edu.spark.source_errors import user_error

#: Settings for small executors and few tasks. So two executors fit next to three brokers on one
#: machine.
CONFIG: Final = MappingProxyType(
    {"spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2"}
)


class TopicEnd:
    """The end offsets of the topic. They are known when they have come on standard input."""

    def __init__(self) -> None:
        self.offsets: dict[int, int] | None = None
        threading.Thread(target=self._read, name="topic-end", daemon=True).start()

    def _read(self) -> None:
        if line := sys.stdin.readline():
            self.offsets = {int(number): end for number, end in json.loads(line).items()}


def main() -> None:
    master, text = sys.argv[1:]
    settings = PipelineSettings.from_json(text)
    end = TopicEnd()
    try:
        with start_session(
            "kafka-edu-pipeline", master, connector=settings.connector, config=CONFIG
        ) as spark:
            stream = Stream(read_topic_stream(spark, settings), settings, available_now=False)
            run_stream(
                stream,
                lambda name, done: print(name, done["batchId"], done["numInputRows"], flush=True),
                lambda: end.offsets is not None and stream.has_written(end.offsets),
            )
    except Exception as error:
        if (line := user_error(error)) is None:
            raise
        sys.exit(line)


if __name__ == "__main__":
    main()
