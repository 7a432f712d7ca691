"""A job of the Spark lab (16-1s) gives the same rows on one worker, on two workers and without a
cluster, through both connectors. The job's program is the same in all cases.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from exercises.runner.manifest import load_manifest
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.interop.external_programs import missing
from tests.spark.own_process import without_the_gateway_of_this_process

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
LINES = 3_000
BROKEN = (b"", b"no line of a log")
PARTITIONS = 3
TOPIC = "web"
FORMATS = ("kafka-edu", "kafka")

#: Its arguments: the master, the brokers, the learner's file, and the file for the result.
SCRIPT = """
import json, runpy, sys
from pathlib import Path
from kafka_edu.spark.connectors import Connector, start_session
master, servers, job, result = sys.argv[1:]
build = runpy.run_path(job)["build"]
options = {"kafka.bootstrap.servers": servers, "subscribe": "web"}
settings = {
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
}
with start_session("lab", master, connector=Connector.OFFICIAL, config=settings) as spark:
    found = {}
    for name in ("kafka-edu", "kafka"):
        rows = build(spark, spark.read.format(name).options(**options).load())
        found[name] = sorted(rows.toJSON().collect())
    context = spark.sparkContext
    hosts = context._jsc.sc().getExecutorMemoryStatus().size()
    found["executors"] = hosts - 1  # the driver is one of them
Path(result).write_text(json.dumps(found))
"""


def rows_on(master: str, cluster: Cluster, folder: Path) -> dict[str, list[str] | int]:
    """Return the sorted rows of each connector, and the number of executors."""
    script, result = folder / "script.py", folder / "rows.json"
    script.write_text(SCRIPT, encoding="utf-8")
    job = load_manifest()["16-1s"].solution
    done = subprocess.run(
        [sys.executable, "-P", script, master, cluster.bootstrap_servers, job, result],
        env=without_the_gateway_of_this_process(),
        capture_output=True,
        text=True,
        check=False,
    )
    if "OfficialConnectorMissing" in done.stderr:
        missing(done.stderr.strip().rpartition("\n")[2])
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[str] | int] = json.loads(result.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Return a cluster with a topic that holds a web log, with good and bad lines."""
    from kafka_edu.spark.log_topic import fill_topic
    from kafka_edu.spark.web_log_topic import create_topic

    with running_cluster("lab-standalone") as cluster:
        create_topic(cluster.bootstrap_servers, TOPIC, PARTITIONS, 3)
        fill_topic(cluster.bootstrap_servers, TOPIC, LINES, seed=7)
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for value in BROKEN:
            producer.produce(TOPIC, value)
        assert producer.flush(60) == 0
        yield cluster


@pytest.fixture(scope="module")
def alone(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the rows of the job without a cluster of Spark."""
    found = rows_on("local[2]", cluster, tmp_path_factory.mktemp("alone"))
    assert found["executors"] == 0
    rows = found["kafka-edu"]
    assert isinstance(rows, list)
    assert Counter(json.loads(row)["kind"] for row in rows) == {"good": LINES, "bad": len(BROKEN)}
    assert found["kafka"] == rows
    return rows


@pytest.mark.parametrize("workers", [1, 2])
def test_a_job_of_the_lab_gives_the_same_rows_on_workers(
    cluster: Cluster, alone: list[str], tmp_path: Path, workers: int
) -> None:
    from kafka_edu.spark.java_gateway import SparkStartError
    from kafka_edu.spark.standalone_cluster import find_full_java, running_standalone_cluster

    try:
        find_full_java()
    except SparkStartError as error:
        missing(str(error))
    with running_standalone_cluster(workers, cores=1) as standalone:
        found = rows_on(standalone.master, cluster, tmp_path)
    assert found["executors"] == workers
    for name in FORMATS:
        assert found[name] == alone
