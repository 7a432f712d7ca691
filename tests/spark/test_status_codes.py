"""PySpark reads a topic of a live cluster through our data source. Its answer equals the
generator's true counts.
"""

from collections.abc import Iterator

import pytest

from kafka_edu.clients.web_log import WebLog
from kafka_edu.spark.web_log_topic import create_topic, fill_topic
from kafka_edu.supervisor.cluster import Cluster, running_cluster

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("spark") as cluster:
        yield cluster


def test_the_pattern_finds_the_status_of_every_line() -> None:
    from kafka_edu.spark.status_codes import status_of

    log = WebLog(3)
    for _ in range(2000):
        line = next(log)
        assert status_of(line.text) == str(line.status), line.text


def test_spark_counts_what_was_written(cluster: Cluster) -> None:
    from kafka_edu.spark.status_codes import count_status_codes

    create_topic(cluster.bootstrap_servers, "web", 3, 3)
    truth = fill_topic(cluster.bootstrap_servers, "web", 5000, seed=11)
    assert count_status_codes(cluster.bootstrap_servers, "web", "local[2]") == {
        str(status): n for status, n in truth.by_status.items()
    }
