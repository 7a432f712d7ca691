"""PySpark reads a topic of a live cluster through our data source, and counts the status codes. The
counts equal those of the log generator.
"""

from collections.abc import Iterator
from itertools import islice

import pytest
from click.testing import CliRunner

from kafka_edu.cli.spark_command import status_codes
from kafka_edu.clients.web_log.records import endless_lines
from kafka_edu.spark.web_log_topic import create_topic
from kafka_edu.supervisor.cluster import Cluster, running_cluster

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("spark") as cluster:
        yield cluster


def test_the_pattern_finds_the_status_of_every_line() -> None:
    from kafka_edu.spark.status_codes import status_of

    for line in islice(endless_lines(3), 2000):
        text = line.record.value.decode()
        assert status_of(text) == str(line.status), text


def test_spark_counts_what_was_written(cluster: Cluster) -> None:
    from kafka_edu.spark.log_topic import fill_topic
    from kafka_edu.spark.status_codes import count_status_codes

    create_topic(cluster.bootstrap_servers, "web", 3, 3)
    truth = fill_topic(cluster.bootstrap_servers, "web", 5000, seed=11)
    assert count_status_codes(cluster.bootstrap_servers, "web", "local[2]") == {
        str(status): n for status, n in truth.by_status.items()
    }


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ("nohost", "Invalid url in bootstrap.servers: nohost. An address is HOST:PORT"),
        ("127.0.0.1:1", "no broker answers at 127.0.0.1:1"),
    ],
)
def test_a_wrong_address_is_one_line_at_once(
    servers: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_edu.spark.log_topic.ANSWER_S", 0.2)
    run = CliRunner().invoke(status_codes, ["--bootstrap-server", servers])
    assert run.exit_code != 0
    assert message in run.output
    assert "Traceback" not in run.output
