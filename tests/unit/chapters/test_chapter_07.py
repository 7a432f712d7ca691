"""Chapter 07's pictures agree with the book and with Kafka. The broker's own classes compute
them.
"""

import pytest

from chapters.ch07_leader_election.pictures import (
    DIES,
    DRAWINGS,
    LAG_MS,
    LIVE,
    OLD_FORMAT,
    REPLICAS,
    TARGET,
    figures,
    flapped,
    strategies,
    topic_leader,
    truncated,
    unclean,
)
from kafka_edu.trace.events.replication import IsrShrunk

SAID = {
    "topic-leader": {"by_ar": "2", "by_isr": "0"},
    "strategies": {"offline": "2", "reassign": "3", "shutdown": "3"},
    "isr": {"out_after_s": "12.0"},
    "unclean": {"acked": "7", "lost_unclean": "3", "lost_clean": "0", "unclean_leader": "1"},
    "epochs": {"hw_loses": "yes", "epochs_keep": "yes"},
}


@pytest.mark.parametrize("name", SAID)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    names = DRAWINGS[name]().names
    assert {key: names[key] for key in SAID[name]} == SAID[name]


def test_the_first_of_ar_leads_that_lives_and_is_in_the_isr() -> None:
    for one in topic_leader():
        able = [broker for broker in one.replicas if broker != DIES and broker in one.isr]
        assert one.after == able[0]
    assert any(one.after != one.by_isr for one in topic_leader()), "or the example shows nothing"


def test_each_strategy_answers_by_its_own_list() -> None:
    offline, reassign, preferred, shutdown = strategies()
    assert offline.leader == next(broker for broker in REPLICAS if broker in LIVE)
    assert reassign.leader in TARGET
    assert preferred.leader == -1
    assert shutdown.leader != offline.leader
    assert offline.leader not in shutdown.isr


def test_only_an_unclean_election_loses_records() -> None:
    waits, goes = unclean(False), unclean(True)
    assert (waits.leader, waits.there) == (-1, waits.acked)
    assert goes.leader != -1
    assert goes.there < goes.acked == waits.acked


def test_a_follower_leaves_after_the_limit_and_a_look_at_most() -> None:
    events = flapped()
    shrunk = next(one for one in events if isinstance(one.event, IsrShrunk))
    after_ms = (shrunk.mono_us - events[0].mono_us) / 1_000
    assert LAG_MS - 500 <= after_ms <= LAG_MS * 1.5


def test_only_records_without_epochs_are_cut_at_the_high_watermark() -> None:
    for old, new in zip(truncated(OLD_FORMAT), truncated(""), strict=True):
        assert old.words == new.words
        assert new.second == ("m0", "m1")
    assert truncated(OLD_FORMAT)[-1].first == truncated(OLD_FORMAT)[-1].second == ("m0",)


def test_figures_are_not_empty() -> None:
    assert all(len(figure.source) > 300 for figure in figures().values())
