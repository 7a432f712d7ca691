"""Run the pipeline's stream as a process of its own, which may be killed at any moment.

    python -m kafka_edu.spark.stream_job MASTER SETTINGS

SETTINGS is what `PipelineSettings.to_json` wrote. The job goes on from its checkpoint if there is
one. A line of JSON on its standard input, such as {"0": 7120, "1": 6911}, says where the topic
ends, partition by partition. The job ends by itself when every query has written all that follows
from the records before it, also the windows that the last of them closes.
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

#: Small executors and few tasks, so that two of them fit next to three brokers on one machine.
CONFIG: Final = MappingProxyType(
    {"spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2"}
)


class TopicEnd:
    """The end of the topic, as soon as standard input has said it."""

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
