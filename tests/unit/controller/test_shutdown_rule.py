"""The partitions that a broker which wants to go still leads."""

from typing import TYPE_CHECKING

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.shutdown_rule import Concerned, ShutdownRule
from kafka_edu.protocol.messages.controlled_shutdown import EPOCH_NOT_CHECKED
from tests.unit.controller.test_kafka_controller import T0

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


def test_controlled_shutdown_and_its_three_cases(cluster: "ControllerCluster") -> None:
    """The three cases of the book.

    Partition t-0 has several replicas, and the broker leads it. t-1 has several replicas, and the
    broker follows it. t-2 has only one replica.
    """
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3, 1], [3, 2, 1], [2])
    cluster.sent()
    controller, epoch = cluster.controller.controller, cluster.brokers[2].controller.broker_epoch
    assert cluster.run(controller.controlled_shutdown(2, epoch)) == []
    assert cluster.states() == [
        "t-0 leader=3 epoch=1 isr=3,1 controller=1",
        "t-1 leader=3 epoch=1 isr=3,1 controller=1",
        "t-2 leader=2 epoch=0 isr=2 controller=1",
    ]
    cluster.settle()
    assert cluster.sent() == [
        *(f"{b} LeaderAndIsr t-0:3/1/3,1" for b in (1, 2, 3)),
        *(f"{b} UpdateMetadata live=1,2,3 t-0:3/1" for b in (1, 2, 3)),
        "2 StopReplica t-1",
        *(f"{b} LeaderAndIsr t-1:3/1/3,1" for b in (1, 3)),
        *(f"{b} UpdateMetadata live=1,2,3 t-1:3/1" for b in (1, 2, 3)),
        "2 StopReplica t-1",
    ]
    cluster.kill(2)
    assert cluster.states()[2] == "t-2 leader=-1 epoch=1 isr=2 controller=1"


def test_controlled_shutdown_leaves_partitions_that_no_other_broker_can_lead(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    cluster.write_isr(T0, [2])
    assert cluster.run(cluster.controller.controller.controlled_shutdown(2, -1)) == [T0]
    cluster.write_isr(T0, [2, 1])
    assert cluster.run(cluster.controller.controller.controlled_shutdown(2, -1)) == []
    assert cluster.states() == ["t-0 leader=1 epoch=1 isr=1 controller=1"]


def test_controlled_shutdown_does_not_wait_for_topics_that_are_being_deleted(
    cluster: "ControllerCluster",
) -> None:
    """The leaders of a topic that is queued for deletion are not moved.

    These partitions do not count as remaining partitions, either (Kafka: partitionLeadersOnBroker).
    """
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3])
    term = cluster.controller.controller._term
    assert term is not None
    term.context.topics_to_be_deleted.add("t")  # as if something holds up the deletion
    assert cluster.run(cluster.controller.controller.controlled_shutdown(2, -1)) == []
    assert cluster.states() == ["t-0 leader=2 epoch=0 isr=2,3 controller=1"]


def test_controlled_shutdown_is_refused(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    controller, epoch = cluster.controller.controller, cluster.brokers[2].controller.broker_epoch
    for who, broker_id, broker_epoch, error in [
        (controller, 2, epoch - 1, Errors.STALE_BROKER_EPOCH),
        (controller, 9, 1, Errors.STALE_BROKER_EPOCH),
        (controller, 9, -1, Errors.BROKER_NOT_AVAILABLE),
        (cluster.brokers[2].controller, 2, epoch, Errors.STALE_CONTROLLER_EPOCH),
    ]:
        with pytest.raises(KafkaException) as refused:
            cluster.run(who.controlled_shutdown(broker_id, broker_epoch))
        assert refused.value.error is error


def test_the_three_cases_sorted() -> None:
    """The broker leads, it follows, or it has the only replica."""
    led, followed, alone, elsewhere, deleting = (TopicPartition("t", n) for n in range(5))
    known = [
        Concerned(led, (1, 2), leader=1, deleting=False),
        Concerned(followed, (2, 1), leader=2, deleting=False),
        Concerned(alone, (1,), leader=1, deleting=False),
        Concerned(elsewhere, (2, 3), leader=2, deleting=False),
        Concerned(deleting, (1, 2), leader=1, deleting=True),
    ]
    rule = ShutdownRule()
    assert rule.sort(1, known) == ([led], [followed])
    assert rule.remaining(1, known) == [led]


@pytest.mark.parametrize(
    ("asked", "live", "error"),
    [
        (7, 7, Errors.NONE),
        (EPOCH_NOT_CHECKED, 7, Errors.NONE),
        (6, 7, Errors.STALE_BROKER_EPOCH),
        (7, None, Errors.STALE_BROKER_EPOCH),
        (EPOCH_NOT_CHECKED, None, Errors.BROKER_NOT_AVAILABLE),
    ],
)
def test_a_request_of_an_earlier_life_is_refused(
    asked: int, live: int | None, error: Errors
) -> None:
    assert ShutdownRule().refusal(asked, live) is error
