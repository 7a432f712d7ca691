"""For the tests of foreign clients: one cluster for all of them, and their results for the README's
table (`matrix`). For those of ZooKeeper: its fixtures.
"""

import json
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from kafka_edu.supervisor.cluster import running_cluster
from tests.interop.matrix import Results, merged
from tests.interop.raw_zookeeper import connect, root, server, zk  # noqa: F401 - fixtures

RESULTS = pytest.StashKey[Results]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RESULTS] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    marker = item.get_closest_marker("ability")
    cls = getattr(item, "cls", None)
    if marker is None or cls is None:
        return report
    ability: str = marker.args[0]
    client = cls.client
    row = item.config.stash[RESULTS].setdefault(client.name, {})
    if ability in client.lacks:
        row[ability] = "–"
    elif report.failed:
        row[ability] = "no"
    elif report.when == "call" and report.passed:
        row.setdefault(ability, "yes")
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Into the file that KAFKA_EDU_CLIENT_RESULTS names, beside what it says of other clients and
    abilities.
    """
    path = os.environ.get("KAFKA_EDU_CLIENT_RESULTS")
    results = session.config.stash[RESULTS]
    if path and results:
        file = Path(path)
        before: Results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        file.write_text(
            json.dumps(merged(before, results), indent=1, ensure_ascii=False) + "\n",
            encoding="utf-8",
        )


@pytest.fixture(scope="session")
def servers() -> Iterator[str]:
    """bootstrap.servers of three brokers; of another cluster, if KAFKA_EDU_BOOTSTRAP names one: is
    the test right, or the broker?
    """
    given = os.environ.get("KAFKA_EDU_BOOTSTRAP")
    if given:
        yield given
        return
    props = {
        "group.initial.rebalance.delay.ms": "100",
        "offsets.topic.num.partitions": "5",
        "auto.create.topics.enable": "false",
    }
    with running_cluster("clients", brokers=3, props=props) as cluster:
        yield cluster.bootstrap_servers
