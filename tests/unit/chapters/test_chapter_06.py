"""Chapter 06's pictures agree with the book and with Kafka. The broker's own classes compute
them.
"""

import pytest

from chapters.ch06_graceful_shutdown.pictures import (
    ALONE,
    ASSIGNMENT,
    DRAWINGS,
    FOLLOWED,
    GOES,
    LED,
    SESSION_MS,
    asked,
    asked_by_another,
    cases,
    ends,
    figures,
    found,
    order,
    sizes,
    steps,
    stopped,
)
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import ControllerElected, LeaderElected
from kafka_edu.trace.events.log import CheckpointWritten, LogFlushed
from kafka_edu.trace.events.server import (
    ControlledShutdownAttempted,
    ServerStopped,
    ServerStopping,
)
from kafka_edu.trace.events.zk import SessionClosed

SAID = {
    "messages": {"request_v0": "4", "answer_v0": "6", "left_v0": "15", "request_v2": "12"},
    "cases": {"led": "1", "followed": "1", "remaining": "0", "heir": "2"},
    "order": {"flushed": "3"},
    "segments": {"segments": "8", "point": "9", "read_again": "4"},
    "patience": {"tries": "2", "first_try_s": "30", "patience_s": "35"},
    "for-another": {"another_stops": "no"},
    "gaps": {"read_term": "0", "read_kill": "3"},
}


@pytest.mark.parametrize("name", SAID)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    names = DRAWINGS[name]().names
    assert {key: names[key] for key in SAID[name]} == SAID[name]


def test_the_books_four_steps_come_in_their_order() -> None:
    numbers = [one.number for one in steps() if one.number]
    assert numbers == sorted(numbers)
    assert {*numbers} == {"1", "2", "3", "4"}


def test_the_books_three_cases() -> None:
    became = {case.tp: case for case in cases()}
    assert became[LED].leader == ASSIGNMENT[LED][1]
    assert GOES not in became[LED].isr
    assert became[FOLLOWED].leader == ASSIGNMENT[FOLLOWED][0]
    assert GOES not in became[FOLLOWED].isr
    assert (became[ALONE].leader, became[ALONE].isr) == (GOES, (GOES,))


def place(events: list[Envelope], kind: type) -> int:
    """The place of the last event of a kind."""
    return max(at for at, envelope in enumerate(events) if isinstance(envelope.event, kind))


def test_the_mark_is_promised_when_all_else_is_written() -> None:
    told = [envelope for envelope, _ in order()]
    assert place(told, LogFlushed) < place(told, CheckpointWritten) < place(told, ServerStopped)
    assert place(told, CheckpointWritten) < place(told, SessionClosed)


def test_the_next_leader_is_elected_before_the_broker_stops() -> None:
    events = stopped()
    assert place(events, LeaderElected) < place(events, ServerStopped)


def test_only_a_kill_costs_a_session_and_a_recovery() -> None:
    term, kill = ends()["SIGTERM"], ends()["kill -9"]
    assert term.gap_ms < 50 < SESSION_MS <= kill.gap_ms
    assert (term.over, kill.over) == ("closed", "expired")
    assert (term.clean, kill.clean) == (True, False)
    assert term.read == 0 < kill.read


def test_only_segments_from_the_recovery_point_on_are_read() -> None:
    log = found()
    behind = [*log.bases[1:], log.end]
    assert log.read == sum(end > log.point for end in behind)


def test_a_broker_asks_the_next_controller() -> None:
    events = [one.event for one in asked()]
    tries = [event for event in events if isinstance(event, ControlledShutdownAttempted)]
    chief = next(one.broker for one in asked() if isinstance(one.event, ControllerElected))
    assert [event.error for event in tries][1:] == ["NONE"]
    assert tries[0].controller_id != tries[1].controller_id == chief


def test_a_broker_that_others_ask_for_does_not_stop() -> None:
    kinds = {type(one.event) for one in asked_by_another()}
    assert LeaderElected in kinds
    assert ServerStopping not in kinds


def test_sizes_grow_with_what_a_version_says() -> None:
    assert [one.request for one in sizes()] == [4, 4, 12, 13]


def test_figures_are_not_empty() -> None:
    assert all(len(figure.source) > 300 for figure in figures().values())
