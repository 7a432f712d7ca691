"""The cluster suite runs on both ZooKeepers: ours, and Apache's if Java and its jars are there."""

import pytest

from kafka_edu.zk.apache import ApacheZooKeeperError, check_installed


@pytest.fixture(scope="session", params=["embedded", "apache"])
def zookeeper(request: pytest.FixtureRequest) -> str:
    """The value for `kafka-edu cluster up --zookeeper`."""
    kind: str = request.param
    if kind == "apache":
        request.getfixturevalue("apache_zookeeper")
    return kind


@pytest.fixture(scope="session")
def apache_zookeeper() -> None:
    """Skip a test that needs Apache's ZooKeeper if it cannot run here."""
    try:
        check_installed()
    except ApacheZooKeeperError as error:
        pytest.skip(str(error))
