"""The pipeline reads records as a stream, in several batches. Its answers equal the log generator's
truth.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.pipeline_records import BATCHES, COLUMNS, settings_in, write_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long


def test_a_stream_finds_the_truth(spark: "SparkSession", tmp_path: Path) -> None:
    from kafka_edu.spark.pipeline import Stream, run_stream
    from kafka_edu.spark.pipeline_answers import compare, read_answers

    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "1")
    settings = settings_in(tmp_path / "stream")
    truth = write_records(tmp_path / "records", settings)
    files = own.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    stream = Stream(files.parquet(str(tmp_path / "records")), settings, available_now=True)
    batches: list[tuple[str, int]] = []
    run_stream(stream, lambda name, done: batches.append((name, done["batchId"])))
    assert {("lines", 0), ("lines", BATCHES), ("windows", 0), ("sessions", 0)} <= set(batches)
    answers = read_answers(own, settings.out, settings.window_s)
    assert [row for row in compare(answers, truth) if row.differences] == []
    assert answers.windows.keys() == truth.windows.keys()
