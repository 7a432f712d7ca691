"""Our zookeeper-shell prints what ZooKeeper's own shells of 3.4.13 and 3.5.9 print, and those
shells print the same on our ZooKeeper as on Apache's.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_edu.common.maven_jars import PeerMissing
from kafka_edu.supervisor.cluster import running_cluster
from tests.interop.external_programs import missing
from tests.interop.zookeeper_shells import (
    ONE_SHOT,
    STORIES,
    golden,
    our_command,
    shell_command,
    tell,
)

pytestmark = pytest.mark.tools


@pytest.fixture(scope="module")
def connect() -> Iterator[str]:
    """Yield the address of an embedded ZooKeeper. A broker runs next to it and uses only its own
    paths.
    """
    with running_cluster("shells", brokers=1) as cluster:
        yield cluster.zookeeper_connect


@pytest.mark.parametrize("release", STORIES)
def test_ours_says_what_zookeepers_own_says(connect: str, release: str) -> None:
    assert tell(our_command(release, connect), STORIES[release]) == golden()[release]


@pytest.mark.parametrize("release", STORIES)
def test_zookeepers_own_cannot_tell_our_zookeeper_from_apaches(
    connect: str, tmp_path: Path, release: str
) -> None:
    try:
        command = shell_command(release, connect, tmp_path)
    except PeerMissing as error:
        missing(str(error))
    said, known = tell(command, STORIES[release]), golden()[release]
    assert said[:3] == known[:3]
    assert Counter(said.watches) <= Counter(known.watches), (
        "the last ones may be lost: the JVM exits without waiting for the event thread"
    )
    assert len(said.watches) > len(known.watches) / 2


@pytest.mark.parametrize(("release", "words"), ONE_SHOT)
def test_one_command_and_its_exit_code(connect: str, release: str, words: str) -> None:
    """The part with watch events is not compared: a shell that sends no request may or may not wait
    for the connection, which it reports as an event.
    """
    assert tell(our_command(release, connect), "", words)[:3] == golden()[f"{release} {words}"][:3]
