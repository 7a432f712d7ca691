"""A topic is created although there is no controller at first."""

import asyncio

import pytest

from kafka_edu.clients.admin import new_topic
from kafka_edu.clients.admin.new_topic import until_taken
from kafka_edu.clients.client_errors import BrokerException, ClientException, TimeoutException
from kafka_edu.common.errors import Errors

LOST = Errors.NETWORK_EXCEPTION


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_topic, "RETRY_PAUSE_S", 0)


def tries(*outcomes: Errors | ClientException, timeout_s: float = 60) -> int:
    """Send a request whose tries end with these outcomes, in this order. Return the number of
    tries.
    """
    left = list(outcomes)
    given: list[float] = []

    async def order(timeout_ms: float) -> None:
        given.append(timeout_ms)
        outcome = left.pop(0)
        if isinstance(outcome, ClientException):
            raise outcome
        if outcome is not Errors.NONE:
            raise BrokerException(outcome)

    asyncio.run(until_taken(order, timeout_s))
    assert sorted(given, reverse=True) == given
    assert given[0] <= timeout_s * 1000
    return len(outcomes) - len(left)


def test_the_order_is_sent_again_until_there_is_a_controller() -> None:
    assert tries(Errors.NOT_CONTROLLER, LOST, Errors.NOT_CONTROLLER, Errors.NONE) == 4


def test_a_controller_that_needs_longer_has_taken_the_order() -> None:
    assert tries(Errors.REQUEST_TIMED_OUT, Errors.NONE) == 1


def test_a_topic_that_exists_is_ours_only_if_an_answer_was_lost() -> None:
    assert tries(LOST, Errors.NOT_CONTROLLER, Errors.TOPIC_ALREADY_EXISTS) == 3
    with pytest.raises(BrokerException, match="TOPIC_ALREADY_EXISTS"):
        tries(Errors.NOT_CONTROLLER, Errors.TOPIC_ALREADY_EXISTS)


def test_a_refusal_is_final() -> None:
    with pytest.raises(BrokerException):
        tries(Errors.INVALID_REPLICATION_FACTOR, Errors.NONE)


@pytest.mark.parametrize("outcome", [Errors.NOT_CONTROLLER, LOST])
def test_the_wait_for_a_controller_ends(outcome: Errors) -> None:
    with pytest.raises(BrokerException, match=outcome.name):
        tries(outcome, Errors.NONE, timeout_s=0)


def test_a_client_that_gives_up_does_not_say_that_the_order_was_taken() -> None:
    with pytest.raises(TimeoutException):
        tries(LOST, TimeoutException("no controller"), Errors.NONE)
