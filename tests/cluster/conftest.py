"""The cluster suite runs on both ZooKeepers: ours, and Apache's where Java and its jars are."""

import pytest

from kafka_edu.zk.apache import ApacheZooKeeperError, find_jars, find_java


@pytest.fixture(scope="session", params=["embedded", "apache"])
def zookeeper(request: pytest.FixtureRequest) -> str:
    """What `kafka-edu cluster up --zookeeper` takes."""
    kind: str = request.param
    if kind == "apache":
        request.getfixturevalue("apache_zookeeper")
    return kind


@pytest.fixture(scope="session")
def apache_zookeeper() -> None:
    """For a test that needs Apache's."""
    try:
        find_java()
        find_jars()
    except ApacheZooKeeperError as error:
        pytest.skip(str(error))
