"""The topics that a streaming pipeline writes have the right answers, also if a batch is
repeated.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_edu.supervisor.cluster import running_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PARTITIONS = 2
LINES = 2_000


@pytest.fixture
def one_shuffle(spark: "SparkSession") -> "Iterator[SparkSession]":
    """Return the session, with one task after each shuffle, because the log is small."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", before)


def test_a_repeated_batch_is_in_its_topics_once(
    one_shuffle: "SparkSession", tmp_path: Path
) -> None:
    """Removing the last commits from the checkpoint makes Spark repeat the last batch."""
    from kafka_edu.clients.web_log.generator import LogSettings
    from kafka_edu.spark.pipeline import (
        DOUBLES_TOPIC,
        LINES_TOPIC,
        WINDOWS_TOPIC,
        Stream,
        outputs,
        read_topic_stream,
        run_stream,
        unfinished_batches,
    )
    from kafka_edu.spark.pipeline_lines import parse
    from kafka_edu.spark.pipeline_log import LogFeeder
    from kafka_edu.spark.pipeline_settings import PipelineSettings
    from kafka_edu.spark.topic_answers import (
        compare_line_topic,
        compare_window_topic,
        read_lines,
        read_windows,
    )
    from kafka_edu.spark.web_log_topic import create_topic

    with running_cluster("spark-topics") as cluster:
        servers = cluster.bootstrap_servers
        settings = PipelineSettings(
            servers,
            "log",
            str(tmp_path / "out"),
            str(tmp_path / "checkpoint"),
            result_topic="windows",
            lines_topic="lines",
            doubles_topic="doubles",
        )
        for topic in ("log", "windows", "lines", "doubles"):
            create_topic(servers, topic, PARTITIONS, 3)
        feeder = LogFeeder(servers, "log", LINES, LogSettings(5, lines_a_second=4.0))
        feeder.feed()
        feeder.send_clock(settings)
        records = read_topic_stream(one_shuffle, settings)
        only = (WINDOWS_TOPIC, LINES_TOPIC, DOUBLES_TOPIC)
        assert set(only) < outputs(parse(records, settings.watermark_s), settings).keys()
        for turn in range(2):
            run_stream(
                Stream(records, settings, available_now=True, only=only), lambda name, done: None
            )
            assert unfinished_batches(settings.checkpoint) == {}
            if turn == 0:
                for commits in Path(settings.checkpoint).glob("*/commits"):
                    last = max(int(one.name) for one in commits.iterdir() if one.name.isdigit())
                    (commits / str(last)).unlink()
                    (commits / f".{last}.crc").unlink(missing_ok=True)
        windows, lines = read_windows(servers, "windows"), read_lines(servers, "lines")
        doubles = read_lines(servers, "doubles")
    found = compare_window_topic(windows, feeder.truth) + compare_line_topic(lines, feeder.truth)
    assert [row for row in found if row.differences] == []
    assert lines.by_status == doubles.by_status
    assert doubles.records > doubles.lines == lines.lines
