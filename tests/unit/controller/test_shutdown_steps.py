"""Many leaderships move in steps."""

from typing import TYPE_CHECKING

import pytest

from kafka_edu.controller.shutdown_steps import ShutdownSteps
from kafka_edu.protocol.messages.leader_and_isr import LeaderAndIsrRequest

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


def test_controlled_shutdown_moves_many_leaderships_in_steps(cluster: "ControllerCluster") -> None:
    """The requests of each step are sent before the next step is written.

    So no partition waits until all others are moved.
    """
    cluster.start(1, 2, 3)
    cluster.create_topic("t", *[[2, 3]] * 450)
    cluster.requests.clear()
    assert cluster.run(cluster.controller.controller.controlled_shutdown(2, -1)) == []
    orders = [
        r
        for broker_id, r in cluster.requests
        if broker_id == 3 and isinstance(r, LeaderAndIsrRequest)
    ]
    assert [
        sum(len(topic.partition_states) for topic in order.topic_states) for order in orders
    ] == [100, 100, 100, 100, 50]
    assert all(" leader=3 epoch=1 isr=3 " in state for state in cluster.states())


def test_a_broker_asks_until_all_leaderships_have_moved() -> None:
    steps = ShutdownSteps(max_retries=3, retry_backoff_ms=5_000)
    assert steps.next(("begin",)) == ("find",)
    assert steps.next(("controller", 1)) == ("connect", 1)
    assert steps.next(("connected",)) == ("ask",)
    assert steps.next(("answer", "NONE", ["web-0"])) == ("wait", 5_000)
    assert steps.next(("waited",)) == ("find",)
    assert steps.next(("controller", 1)) == ("ask",), "the connection is there"
    assert steps.next(("answer", "NONE", [])) == ("stop", True)


def test_a_new_controller_gets_a_new_connection_and_so_does_one_that_failed() -> None:
    steps = ShutdownSteps(max_retries=5, retry_backoff_ms=10)
    for came in (("begin",), ("controller", 1), ("connected",), ("failed",), ("waited",)):
        steps.next(came)
    assert steps.next(("controller", 1)) == ("connect", 1)
    steps.next(("failed",))
    steps.next(("waited",))
    assert steps.next(("controller", 2)) == ("connect", 2)


def test_after_the_last_attempt_it_stops_all_the_same() -> None:
    steps = ShutdownSteps(max_retries=2, retry_backoff_ms=10)
    steps.next(("begin",))
    assert steps.next(("controller", None)) == ("wait", 10)
    steps.next(("waited",))
    assert steps.next(("controller", None)) == ("stop", False)


def test_what_cannot_come_is_an_error() -> None:
    with pytest.raises(ValueError, match="cannot come"):
        ShutdownSteps(1, 1).next(("soup",))
