"""A topic is created although there is no controller at first."""

import asyncio

import pytest

from kafka_edu.clients.admin import new_topic
from kafka_edu.clients.admin.new_topic import until_taken
from kafka_edu.common.errors import Errors, KafkaException


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_topic, "RETRY_PAUSE_S", 0)


def tries(*outcomes: Errors | Exception, timeout_s: float = 60) -> int:
    """Send an order that ends like this, one try after the other. Return the number of tries."""
    left = list(outcomes)

    async def order() -> None:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is not Errors.NONE:
            raise KafkaException(outcome)

    asyncio.run(until_taken(order, timeout_s))
    return len(outcomes) - len(left)


def test_the_order_is_sent_again_until_there_is_a_controller() -> None:
    dead = ConnectionRefusedError("the controller has died")
    assert tries(Errors.NOT_CONTROLLER, dead, Errors.NOT_CONTROLLER, Errors.NONE) == 4


def test_a_controller_that_needs_longer_has_taken_the_order() -> None:
    assert tries(Errors.REQUEST_TIMED_OUT, Errors.NONE) == 1


def test_a_topic_that_exists_is_ours_only_if_an_answer_was_lost() -> None:
    assert tries(ConnectionResetError("lost"), Errors.TOPIC_ALREADY_EXISTS) == 2
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        tries(Errors.NOT_CONTROLLER, Errors.TOPIC_ALREADY_EXISTS)


def test_a_refusal_is_final() -> None:
    with pytest.raises(KafkaException):
        tries(Errors.INVALID_REPLICATION_FACTOR, Errors.NONE)


@pytest.mark.parametrize("outcome", [KafkaException(Errors.NOT_CONTROLLER), OSError("dead")])
def test_the_wait_for_a_controller_ends(outcome: Exception) -> None:
    with pytest.raises(type(outcome)):
        tries(outcome, Errors.NONE, timeout_s=0)
