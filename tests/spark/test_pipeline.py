"""The pipeline reads records from Parquet files. Its answers equal the log generator's truth (the
right counts).
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.pipeline_records import COLUMNS, settings_in, write_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long


def test_a_batch_finds_the_truth(spark: "SparkSession", tmp_path: Path) -> None:
    from kafka_edu.spark.pipeline import run_batch
    from kafka_edu.spark.pipeline_answers import compare, read_answers

    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "1")
    settings = settings_in(tmp_path / "batch")
    truth = write_records(tmp_path / "records", settings)
    assert truth.too_late > 0
    assert truth.late > 0
    run_batch(own.read.schema(COLUMNS).parquet(str(tmp_path / "records")), settings)
    answers = read_answers(own, settings.out, settings.window_s)
    assert [row for row in compare(answers, truth) if row.differences] == []
    assert answers.windows.keys() == truth.windows.keys()
