"""Fixtures for the tests of other people's clients: one cluster for all of them, and the collection
of their results for the README's table (`matrix`). Also the fixtures of the ZooKeeper tests.
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
    """Write the results into the file that KAFKA_EDU_CLIENT_RESULTS names. Results of other clients
    and abilities stay in it.
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
    """Yield the bootstrap.servers of three brokers. KAFKA_EDU_BOOTSTRAP may name another cluster
    instead: this helps to decide whether the test or the broker is wrong.
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
