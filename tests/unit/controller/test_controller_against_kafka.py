"""Our controller must leave the same states as Kafka 2.8.2 after the actions that are recorded in
tests/golden/zk.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_edu.common.topic_partition import TopicPartition
from tests.defaults import CONTROLLER_DEFAULTS

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster

GOLDEN = Path(__file__).parents[2] / "golden" / "zk"


def kafka_states(version: str, step: str) -> list[str]:
    """Return the states that a step of the recording left.

    They have the form of `ControllerCluster.states`, without the controller's epoch.
    """
    recording = json.loads((GOLDEN / f"apache-kafka-{version}.json").read_text())
    last = {}
    for write in recording["steps"][step]:
        if write["path"].endswith("/state") and write.get("data"):
            _, _, _, topic, _, number, _ = write["path"].split("/")
            fields = json.loads(write["data"])
            isr = ",".join(map(str, fields["isr"]))
            last[TopicPartition(topic, int(number))] = (
                f"{topic}-{number} leader={fields['leader']} epoch={fields['leader_epoch']}"
                f" isr={isr}"
            )
    return [last[tp] for tp in sorted(last)]


def our_states(cluster: "ControllerCluster", topic: str = "golden-a") -> list[str]:
    return [words.rpartition(" controller=")[0] for words in cluster.states(topic)]


def test_the_life_of_a_topic(cluster: "ControllerCluster") -> None:
    """Create and grow a topic, and let brokers die, come back and shut down.

    One broker is killed and restarted and gets its leadership back; another is shut down in order.
    """
    cluster.start(
        2, 0, 1, config=CONTROLLER_DEFAULTS._replace(auto_leader_rebalance_enable=False)
    )  # broker 2 was the controller there, too
    cluster.create_topic("golden-a", [0, 1, 2], [1, 2, 0], [2, 0, 1])
    assert our_states(cluster) == kafka_states("2.8.2", "create topic with config and assignment")

    async def add() -> None:
        (assignment,) = (await cluster.admin.get_assignment_for_topics(["golden-a"])).values()
        more = {**assignment.partitions, 3: assignment.partitions[0]}
        await cluster.admin.set_topic_assignment("golden-a", assignment._replace(partitions=more))

    cluster.run(add())
    cluster.settle()
    assert our_states(cluster)[3:] == kafka_states("2.8.2", "add partitions")
    cluster.kill(1)
    assert our_states(cluster) == kafka_states("2.8.2", "kill -9 broker 1")
    cluster.start(1)
    for number, words in enumerate(our_states(cluster)):
        isr = [int(replica) for replica in words.rpartition("isr=")[2].split(",")]
        cluster.write_isr(TopicPartition("golden-a", number), [*isr, 1])
    assert our_states(cluster) == kafka_states("2.8.2", "broker 1 returns")
    cluster.run(cluster.admin.create_preferred_replica_election([TopicPartition("golden-a", 1)]))
    cluster.settle()
    assert our_states(cluster)[1:2] == kafka_states("2.8.2", "preferred replica election by znode")
    cluster.run(cluster.controller.controller.controlled_shutdown(2, -1))
    expected = kafka_states("2.8.2", "controlled shutdown of broker 2")
    assert our_states(cluster) == [words for words in expected if words.startswith("golden-a")]


def test_a_deleted_topic_is_taken_apart_in_the_same_order(cluster: "ControllerCluster") -> None:
    """Kafka 2.0.1 deleted the topic's znodes from the bottom up, then the topic's configs, and last
    the znode in /admin/delete_topics.
    """
    cluster.start(0)
    cluster.create_topic("golden-b", [0])
    paths = [
        f"/brokers/topics/golden-b{rest}"
        for rest in ("", "/partitions", "/partitions/0", "/partitions/0/state")
    ]
    paths += ["/config/topics/golden-b", "/admin/delete_topics/golden-b"]
    cluster.run(cluster.admin.create_delete_topic_path("golden-b"))
    gone: list[str] = []
    while len(gone) < len(paths) and cluster.loop.step():
        there = {row.path for row in cluster.zookeeper.server.tree.rows()}
        gone += [path for path in paths if path not in there and path not in gone]
    recording = json.loads((GOLDEN / "apache-kafka-2.0.1.json").read_text())["steps"][
        "one broker: delete a topic"
    ]
    assert gone == [write["path"] for write in recording if write["op"] == "delete"]
