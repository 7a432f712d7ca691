"""A learner's Reset in a live consumer: its answers are carried out. Our own code decides the
rest.
"""

from collections.abc import Callable

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.clients.consumer import consumer_core
from kafka_edu.clients.consumer.subscription_state import (
    NO_OFFSET,
    FetchState,
    InvalidOffsetException,
    LogTruncationException,
    OffsetAndMetadata,
    OffsetResetStrategy,
    SubscriptionState,
)
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner import learner_reset
from kafka_edu.learner.seams import SEAMS, LearnerError
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

from .conftest import Load

T0 = TopicPartition("web", 0)
EARLIEST, LATEST, NONE = OffsetResetStrategy
WHY = "There is no committed offset"
BY_POLICY = '        if self.policy != "none":'
Make = Callable[..., tuple[SubscriptionState, list[LearnerError]]]


@pytest.fixture
def make(load: Load) -> Make:
    """Return a function that makes a state with the reference solution. An edit may change the
    solution.
    """

    def made(
        policy: OffsetResetStrategy, old: str = "", new: str = ""
    ) -> tuple[SubscriptionState, list[LearnerError]]:
        text = find_exercise("14-2").solution.read_text(encoding="utf-8")
        assert old in text
        code, errors = load("14-2", text.replace(old, new) if old else text)
        state = learner_reset.adapt(code)("reader", policy)
        state.assign([T0])
        return state, errors

    return made


def test_the_seam_is_where_the_consumer_looks() -> None:
    assert SEAMS["14-2"].module == consumer_core.__name__
    assert vars(consumer_core)[SEAMS["14-2"].name] is SubscriptionState


def truncate(state: SubscriptionState, end: int, epoch: int = 3) -> None:
    """Let the leader's log be truncated: only below `end` is it still the log that was read."""
    state.seek(T0, 70, "a test", 3)
    assert state.note_leader(T0, 1, 4)
    state.epoch_ended(T0, state.fetch_position(T0), end, epoch)


def places(state: SubscriptionState) -> list[tuple[str, int]]:
    """Let a consumer go through all cases. Return its state and its position, or its reset target,
    after each case.
    """
    seen = []

    def note() -> None:
        (kind,) = [one for one in FetchState if state.in_state(one)]
        waits = kind is FetchState.AWAIT_RESET
        seen.append((str(kind), state.reset_target(T0) if waits else state.position(T0)))

    for case in (
        lambda: state.begin(T0, OffsetAndMetadata(0), WHY),
        lambda: state.begin(T0, None, WHY),
        lambda: state.reset_done(T0, EARLIEST_TIMESTAMP, 5, 1),
        lambda: state.reset_done(T0, LATEST_TIMESTAMP, 95, 1),
        lambda: state.out_of_range(T0, 5),
        lambda: state.request_reset(T0, 777, "seek_to_time"),
        lambda: state.reset_found_nothing(T0, 778),
        lambda: state.reset_found_nothing(T0, 777),
        lambda: state.reset_done(T0, LATEST_TIMESTAMP, 96, 1),
        lambda: state.request_reset(T0, EARLIEST_TIMESTAMP, "seek_to_beginning"),
        lambda: state.seek(T0, 12, "seek"),
        lambda: state.reset_done(T0, EARLIEST_TIMESTAMP, 5, 1),
        lambda: truncate(state, 60),
        lambda: truncate(state, 80),
        lambda: truncate(state, NO_OFFSET, -1),
    ):
        try:
            case()
        except InvalidOffsetException as error:
            seen.append((type(error).__name__, 0))
        note()
    return seen


@pytest.mark.parametrize("policy", OffsetResetStrategy)
def test_the_reference_does_what_ours_does(make: Make, policy: OffsetResetStrategy) -> None:
    shipped = SubscriptionState("reader", policy)
    shipped.assign([T0])
    state, errors = make(policy)
    assert places(state) == places(shipped)
    assert errors == []


def test_a_wrong_answer_is_carried_out(make: Make) -> None:
    state, errors = make(LATEST, "self.look(partition, self.policy)", "self.go(partition, 3)")
    state.begin(T0, None, WHY)
    assert state.position(T0) == 3
    state, more = make(EARLIEST, "return self.go(partition, end)", 'return ("fail",)')
    with pytest.raises(LogTruncationException):
        truncate(state, 60)
    assert errors == more == []


@pytest.mark.parametrize("more", [0, 1])
def test_an_epoch_is_kept_only_for_the_offset_it_belongs_to(make: Make, more: int) -> None:
    """The record before another offset is a different record, and nobody knows its epoch."""
    state, errors = make(
        EARLIEST, '        return ("go", offset)', f'        return ("go", offset + {more})'
    )
    epochs = []
    for case in (
        lambda: state.begin(T0, OffsetAndMetadata(40, leader_epoch=3), WHY),
        lambda: truncate(state, 60),
        lambda: state.request_reset(T0, EARLIEST_TIMESTAMP, "seek_to_beginning"),
        lambda: state.reset_done(T0, EARLIEST_TIMESTAMP, 5, 4),
    ):
        case()
        if state.in_state(FetchState.FETCHING):
            epochs.append((state.position(T0), state.fetch_position(T0).epoch))
    known = [(40, 3), (60, 3), (5, 4)]
    assert epochs == [(at + more, -1 if more else epoch) for at, epoch in known]
    assert errors == []


def test_a_partition_that_goes_is_told(make: Make) -> None:
    state, errors = make(EARLIEST)
    state.begin(T0, None, WHY)
    state.assign([])
    state.assign([T0])
    state.request_reset(T0, EARLIEST_TIMESTAMP, "seek_to_beginning")
    state.reset_done(T0, EARLIEST_TIMESTAMP, 5, 1)
    assert state.position(T0) == 5
    assert errors == []


@pytest.mark.parametrize(
    "answer",
    [
        *("None", '("go", -1)', '("go", 2**63)', '("go", True)', '"fail"', "1 / 0"),
        *('("look", "first")', '("look", -2)', '("look", 2**63)'),
    ],
)
def test_an_impossible_answer_is_an_error_and_ours_decides(make: Make, answer: str) -> None:
    state, errors = make(EARLIEST, BY_POLICY, f"        return {answer}\n{BY_POLICY}")
    state.begin(T0, None, WHY)
    assert state.reset_target(T0) == EARLIEST_TIMESTAMP
    assert len(errors) == 1
    state.reset_done(T0, EARLIEST_TIMESTAMP, 5, 1)
    assert state.position(T0) == 5
    truncate(state, 60)
    assert state.position(T0) == 60
    assert len(errors) == 1
