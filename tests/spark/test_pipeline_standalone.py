"""The pipeline on a standalone cluster gives the right answers: in batch and as a stream, through
both connectors, on executors whose Python has only numpy and pyarrow.

Each job runs in a separate process, because a process has only one Spark session.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.spark.own_process import without_the_gateway_of_this_process

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_edu.spark.standalone_cluster import StandaloneCluster

pytestmark = pytest.mark.long
LINES = 12_000
PATIENCE_S = 600
BATCH = """
import sys
from kafka_edu.spark.connectors import start_session
from kafka_edu.spark.pipeline import (read_topic, run_batch)
from kafka_edu.spark.pipeline_settings import PipelineSettings
from kafka_edu.spark.stream_job import CONFIG
settings = PipelineSettings.from_json(sys.argv[2])
with start_session("batch", sys.argv[1], connector=settings.connector, config=CONFIG) as spark:
    run_batch(read_topic(spark, settings), settings)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("spark-standalone") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def workers() -> "Iterator[StandaloneCluster]":
    from kafka_edu.spark.java_gateway import SparkStartError
    from kafka_edu.spark.standalone_cluster import find_full_java, running_standalone_cluster
    from tests.interop.external_programs import missing

    try:
        find_full_java()
    except SparkStartError as error:
        missing(str(error))
    with running_standalone_cluster(2) as workers:
        yield workers


@pytest.mark.parametrize("connector", ["python", "official"])
@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_the_pipeline_finds_the_truth_on_two_workers(
    spark: "SparkSession",
    official: "SparkSession",
    cluster: Cluster,
    workers: "StandaloneCluster",
    tmp_path: Path,
    connector: str,
    mode: str,
) -> None:
    from kafka_edu.clients.web_log.generator import LogSettings
    from kafka_edu.spark.bare_python import make_bare_python
    from kafka_edu.spark.connectors import Connector
    from kafka_edu.spark.pipeline_answers import compare, read_answers
    from kafka_edu.spark.pipeline_log import LogFeeder, topic_ends
    from kafka_edu.spark.pipeline_settings import PipelineSettings
    from kafka_edu.spark.topic_answers import (
        compare_line_topic,
        compare_window_topic,
        read_lines,
        read_windows,
    )
    from kafka_edu.spark.web_log_topic import create_topic

    servers = cluster.bootstrap_servers
    topics = [f"{name}-{mode}-{connector}" for name in ("log", "windows", "lines")]
    settings = PipelineSettings(
        servers,
        topics[0],
        str(tmp_path / "out"),
        str(tmp_path / "checkpoint"),
        Connector(connector),
        batch_lines=5_000,
        result_topic=topics[1],
        lines_topic=topics[2],
    )
    for topic in topics:
        create_topic(servers, topic, 3, 3)
    feeder = LogFeeder(servers, topics[0], LINES, LogSettings(7, lines_a_second=20.0))
    feeder.feed()
    feeder.send_clock(settings)
    program = ["-c", BATCH] if mode == "batch" else ["-m", "kafka_edu.spark.stream_job"]
    python = make_bare_python(tmp_path / "python")
    done = subprocess.run(
        [sys.executable, "-P", *program, workers.master, settings.to_json()],
        input=json.dumps(topic_ends(servers, topics[0])) + "\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=without_the_gateway_of_this_process() | {"PYSPARK_PYTHON": str(python)},
    )
    assert done.returncode == 0, done.stderr.partition("=== Streaming Query")[0][-3000:]
    found = [
        *compare(read_answers(spark, settings.out, settings.window_s), feeder.truth),
        *compare_window_topic(read_windows(servers, topics[1]), feeder.truth),
        *compare_line_topic(read_lines(servers, topics[2]), feeder.truth),
    ]
    assert [row for row in found if row.differences] == []
