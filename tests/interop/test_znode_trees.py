"""Our brokers write the znodes that Apache Kafka 2.0.1 and 2.8.2 write for the same history: the
same paths, with the same bytes in them (spec Z2).
"""

from collections.abc import Iterator

import pytest

from kafka_edu.supervisor.cluster import running_cluster
from tests.interop.znode_trees import BROKERS, SETTINGS, STEPS, Story, Tree, golden
from tests.waiting import wait_for

pytestmark = pytest.mark.tools

#: The inter.broker.protocol.version of our brokers. The content of some znodes depends on it.
PROTOCOLS = {"2.0.1": "2.0", "2.8.2": "2.8"}
#: Kafka's brokers allocate their first producer ids at the start, ours at the first request.
BLOCK = "/latest_producer_id_block"
#: With these settings no broker is lost or falls behind, however busy the machine is.
UNHURRIED = {"zookeeper.session.timeout.ms": "10000", "replica.lag.time.max.ms": "60000"}
ELECTED = "/brokers/topics/walk/partitions/1/state"


def excepted(tree: Tree, version: str) -> Tree:
    """Return the tree without a deliberate difference: an election that changes nothing raises the
    leader epoch in 2.0.1, and not in 2.8.2.
    """
    left_out = {ELECTED} if version == "2.0.1" else set()
    return {path: text for path, text in tree.items() if path not in left_out}


@pytest.fixture(params=PROTOCOLS)
def version(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def story(version: str) -> Iterator[Story]:
    props = {**SETTINGS, **UNHURRIED, "inter.broker.protocol.version": PROTOCOLS[version]}
    with running_cluster("znodes", brokers=BROKERS, props=props) as cluster:
        story = Story(cluster.bootstrap_servers, cluster.zookeeper_connect)
        yield story
        story.close()


def differences(expected: Tree, found: Tree) -> list[str]:
    paths = sorted(expected.keys() | found.keys())
    there = [
        (path, expected.get(path, "no such path"), found.get(path, "no such path"))
        for path in paths
    ]
    return [
        f"{path}: expected {wanted}, found {got}" for path, wanted, got in there if wanted != got
    ]


def test_the_same_history_leaves_the_same_tree(story: Story, version: str) -> None:
    expected: dict[str, str | None] = {}

    def found() -> list[str]:
        return differences(expected, excepted(story.tree(), version))

    asked_for_ids = False
    for step in STEPS:
        step(story)
        expected = excepted(golden(version)[step.__name__], version)
        if not (asked_for_ids := asked_for_ids or step is Story.produce_idempotently):
            expected[BLOCK] = None
        wait_for(
            lambda: not found(), lambda name=step.__name__: f"after {name}:\n" + "\n".join(found())
        )  # type: ignore[misc]  # mypy does not type a lambda's default
