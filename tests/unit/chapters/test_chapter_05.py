"""Chapter 05's pictures agree with the book, Kafka and ZooKeeper. The broker's own classes compute
them.
"""

import pytest

from chapters.ch05_zookeeper_election.pictures import (
    CASES,
    DRAWINGS,
    SESSION_MS,
    TICK_MS,
    figures,
    gaps,
    generated,
    settled,
    tracked,
    waking,
)
from kafka_edu.trace.events.controller import ControllerElected, ControllerResigned
from kafka_edu.trace.events.server import SessionLost

SAID = {
    "office": {"first_epoch": "1", "ephemeral": "4"},
    "race": {"race_fired": "3", "read_nothing": "3", "race_epoch": "2"},
    "vacant": {"expired_stop": "no", "expired_delete": "no", "expired_kill": "yes"},
    "sessions": {"bucket_first": "8000", "ended_1": "14000", "silent_1": "7800"},
    "ids": {"id_refused": "3", "id_cases": "7"},
    "dispenser": {"generated_1": "1001", "generated_3": "1003"},
}


@pytest.mark.parametrize("name", SAID)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    names = DRAWINGS[name]().names
    assert {key: names[key] for key in SAID[name]} == SAID[name]


def test_only_a_silent_controller_costs_a_session() -> None:
    for name, gap in gaps().items():
        silent = name in ("kill", "pause")
        assert gap.expired == silent
        assert (SESSION_MS <= gap.elected_ms <= SESSION_MS + 2 * TICK_MS) == silent
        assert gap.gone_ms <= gap.elected_ms
        assert gap.winner != 0 or name == "delete"


def test_a_session_lives_a_tick_longer_than_its_time_out_at_most() -> None:
    for session, ended in tracked().ended.items():
        last = max(touch.at_ms for touch in tracked().touches if touch.session == session)
        assert SESSION_MS <= ended - last <= SESSION_MS + TICK_MS
        assert ended % TICK_MS == 0


def test_the_old_controller_resigns_after_the_next_one_is_elected() -> None:
    kinds = [type(envelope.event) for envelope in waking()]
    assert kinds.index(ControllerElected) < kinds.index(SessionLost)
    assert kinds.index(SessionLost) < kinds.index(ControllerResigned)


def test_the_four_rules_of_broker_id() -> None:
    outcomes = {case: settled(case)[0] for case in CASES}
    for case, outcome in outcomes.items():
        stored = {broker_id for broker_id in case.stored if broker_id >= 0}
        configured = {case.configured} - {-1}
        named = stored | configured
        if len(named) > 1 or not (named or case.generates):
            assert outcome == "InconsistentBrokerIdException"
        else:
            assert outcome == str(next(iter(named), 1001))


def test_numbers_are_handed_out_once() -> None:
    assert generated() == [1001, 1002, 1003]


def test_each_figure_has_a_legend() -> None:
    drawn = figures()
    assert set(drawn) == {"znodes", "election", "failover", "buckets"}
    assert all("bgcolor" in one.source.partition("node [")[0] for one in drawn.values())
