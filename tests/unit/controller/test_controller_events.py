"""The events of the controller, and the detail that the trace gives for each."""

import asyncio
from typing import Any, get_args

import pytest

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller import controller_events as events
from kafka_edu.controller.controller_events import detail_of
from kafka_edu.controller.requested_elections import ElectionType

A, B = TopicPartition("a", 0), TopicPartition("b", 1)


def answer() -> asyncio.Future[Any]:
    return asyncio.Future(loop=asyncio.new_event_loop())


@pytest.mark.parametrize(
    ("event", "detail"),
    [
        (events.PartitionModifications("web"), "web"),
        (events.BrokerModifications(7), "7"),
        (events.ControlledShutdown(2, 9, answer()), "2"),
        (events.AlterIsrReceived(3, 9, {A: LeaderAndIsr(1, 1, (1,), 0)}, answer()), "3"),
        (
            events.ReplicaLeaderElection((A, B), ElectionType.PREFERRED, answer()),
            "preferred of a-0, b-1",
        ),
        (events.ApiPartitionReassignment({A: (1, 2)}, answer()), "a-0"),
        (events.LeaderAndIsrResponseReceived(4, (), (A,)), "4"),
        (events.Reelect(), ""),
    ],
)
def test_the_trace_names_what_an_event_is_about(event: Any, detail: str) -> None:
    assert detail_of(event) == detail


def test_an_event_whose_caller_waits_has_an_answer_and_no_other_has() -> None:
    asked = set(get_args(events.AnsweredEvent))
    for kind in get_args(events.ControllerEvent):
        assert ("answer" in kind._fields) == (kind in asked), kind
