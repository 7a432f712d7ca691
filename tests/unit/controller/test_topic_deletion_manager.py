"""Topics are deleted, replica by replica."""

from typing import TYPE_CHECKING

from kafka_edu.trace.events.controller import (
    TopicDeletionChanged,
)
from tests.defaults import CONTROLLER_DEFAULTS
from tests.unit.controller.test_kafka_controller import T0

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


def test_a_topic_is_deleted(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2], config={"retention.ms": "1"})
    cluster.sent()
    cluster.run(cluster.admin.create_delete_topic_path("t"))
    cluster.settle()
    assert cluster.run(cluster.admin.get_all_topics_in_cluster()) == []
    assert cluster.run(cluster.admin.get_topic_deletions()) == []
    assert cluster.run(cluster.hand.exists("/config/topics/t")) is None
    sent = cluster.sent()
    assert sent[:2] == ["1 UpdateMetadata live=1,2 t-0:-2/0", "2 UpdateMetadata live=1,2 t-0:-2/0"]
    assert [words for words in sent if "delete" in words] == [
        "1 StopReplica t-0/delete",
        "2 StopReplica t-0/delete",
    ]
    cluster.create_topic("t", [2, 1])
    assert cluster.states() == ["t-0 leader=2 epoch=0 isr=2,1 controller=1"]


def test_the_deletion_of_a_topic_waits_for_a_dead_broker(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    cluster.kill(2)
    cluster.run(cluster.admin.create_delete_topic_path("t"))
    cluster.settle()
    assert cluster.run(cluster.admin.get_all_topics_in_cluster()) == ["t"]
    steps = [
        event.step
        for event in cluster.controller.facts("TopicDeletionChanged")
        if isinstance(event, TopicDeletionChanged)
    ]
    assert steps == ["queued", "started", "ineligible"]
    cluster.start(2)
    assert cluster.run(cluster.admin.get_all_topics_in_cluster()) == []


def test_a_deletion_survives_its_controller(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3])
    cluster.undeletable.add((2, T0))
    cluster.run(cluster.admin.create_delete_topic_path("t"))
    cluster.settle()
    assert cluster.run(cluster.admin.get_topic_deletions()) == ["t"]
    cluster.undeletable.clear()
    cluster.kill(1)
    assert cluster.run(cluster.admin.get_topic_deletions()) == []
    assert cluster.run(cluster.admin.get_all_topics_in_cluster()) == []


def test_deletion_orders_are_dropped_where_they_are_forbidden_or_mean_nothing(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, config=CONTROLLER_DEFAULTS._replace(delete_topic_enable=False))
    cluster.create_topic("t", [1])
    for topic in ("t", "unknown"):
        cluster.run(cluster.admin.create_delete_topic_path(topic))
    cluster.settle()
    assert cluster.run(cluster.admin.get_topic_deletions()) == []
    assert cluster.run(cluster.admin.get_all_topics_in_cluster()) == ["t"]
