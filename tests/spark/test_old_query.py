"""Exercise 16-20s writes files as if an old query had left them. They are compared with the files
of a real query.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from exercises.ch16_spark.behind import GrowingTopic, files_of
from exercises.ch16_spark.both_connectors import SOURCES, connectors_here
from exercises.ch16_spark.live_migration import OLD_JOB
from exercises.ch16_spark.old_query import TRIAL, TRIAL_ID, OldQuery
from exercises.runner.parquet_files import each_file
from exercises.runner.public_tests import SPARK_LIMITS
from exercises.runner.spark_learner import LeftFile, SparkLearner
from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.clients.blocking import Admin
from kafka_edu.supervisor.cluster import Cluster, running_cluster

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("old-query", brokers=1) as cluster:
        yield cluster


@pytest.mark.rotated
def test_the_files_are_those_of_a_real_query(cluster: Cluster, tmp_path: Path) -> None:
    servers = cluster.bootstrap_servers
    topic = GrowingTopic(servers, "clicks")
    make_topic(servers, TRIAL, 1, 1)
    with Admin({"bootstrap.servers": servers}) as admin:
        trial_id = str(admin.describe_topics([TRIAL])[TRIAL].topic_id)
    topic.write(9)
    topic.grow(2)
    topic.write(4)
    options = {**topic.options, "subscribe": f"{topic.name},{TRIAL}"}
    for connector in connectors_here():
        real, made = tmp_path / f"real-{connector}", tmp_path / f"made-{connector}"
        source = SOURCES[connector]
        query = SparkLearner(OLD_JOB, "follow", allowance=SPARK_LIMITS.call)
        try:
            query.run_with(source, options, str(real), connector=connector)
            rows = query.read(str(real / "rows"))
            OldQuery(topic, made, source).batch()
            came = query.read(str(made / "rows"))
        finally:
            query.close()
        assert (came.columns, came.types, came.rows) == (rows.columns, rows.types, rows.rows)
        for name in ("commits/0", "state/0/_metadata/metadata"):
            assert text_of(made, name) == text_of(real, name)
        mine, spark = text_of(made, "offsets/0"), text_of(real, "offsets/0")
        assert mine[0] == spark[0]
        assert json.loads(mine[1]).keys() == json.loads(spark[1]).keys()
        offsets = json.loads(spark[2].replace(trial_id, TRIAL_ID))
        assert json.loads(mine[2]) == offsets
        assert offsets[topic.name] == {"0": 11, "1": 2}


def test_an_old_job_leaves_a_plan_and_a_part_of_the_rows(cluster: Cluster, tmp_path: Path) -> None:
    topic = GrowingTopic(cluster.bootstrap_servers, "killed")
    topic.write(3)
    old = OldQuery(topic, tmp_path, "kafka", 9)
    old.batch()
    topic.grow(2)
    topic.write(4)
    old.batch(writes=0.5, noted=False)
    plan = (tmp_path / "checkpoint" / "offsets" / "10").read_text(encoding="utf-8")
    assert plan.splitlines()[2] == '{"killed": {"0": 5, "1": 2}, "clicks-trial": {"0": 0}}'
    assert [path.name for path in (tmp_path / "checkpoint" / "commits").iterdir()] == ["9"]
    files = files_of(LeftFile(*file) for file in each_file(tmp_path / "rows"))
    assert {file.batch: file.places for file in files} == {
        "batch=9": ((0, 0), (0, 1), (0, 2)),
        "batch=10": ((0, 3), (0, 4)),
    }
    assert all(file.values_are_right for file in files)


def text_of(folder: Path, name: str) -> list[str]:
    """Return the lines of a file in a checkpoint. JSON is written again, so that spaces in it make
    no difference.
    """
    text = (folder / "checkpoint" / name).read_text(encoding="utf-8")
    return [
        json.dumps(json.loads(line)) if name.startswith("state") and line.startswith("{") else line
        for line in text.splitlines()
    ]
