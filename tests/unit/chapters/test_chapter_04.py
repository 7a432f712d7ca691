"""Chapter 04's pictures agree with the book and with Kafka. Real controllers compute them."""

import pytest

from chapters.ch04_controller.pictures import DRAWINGS, figures, partition_way, phases, replica_way

SAID = {
    "herd": {"herd_fired": "125", "herd_watches": "265", "one_fired": "2", "one_woken": "1"},
    "who-gets-what": {
        "sent_0": "2",
        "sent_1": "2",
        "sent_2": "1",
        "leader_and_isrs": "2",
        "update_metadatas": "3",
    },
    "machines": {
        "partition_states": "4",
        "partition_allowed": "8",
        "replica_states": "7",
        "replica_allowed": "14",
        "way": "NonExistent → New → Online → Offline → NonExistent",
    },
    "move": {"most_replicas": "3", "leader_before": "0", "leader_after": "1"},
    "deletion": {
        "deletion_steps": "queued, started, ineligible, complete",
        "last_step": "complete",
    },
}


@pytest.mark.parametrize("name", SAID)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    names = DRAWINGS[name]().names
    assert {key: names[key] for key in SAID[name]} == SAID[name]


def test_the_queue_holds_more_than_one_event_and_handles_each() -> None:
    picture = DRAWINGS["event-queue"]()
    assert int(picture.names["deepest"]) >= 2
    lines = picture.text.splitlines()
    for word in ("queued", "begins", "done"):
        assert sum(word in line for line in lines) == int(picture.names["handled"])


def test_a_move_keeps_the_old_replicas_until_the_new_one_is_in_sync() -> None:
    names = [phase.name for phase in phases()]
    assert names == ["U", "A", "B", "B3", "B5", "B6–B8"]
    caught_up = names.index("B")
    assert all({0, 1} <= set(phase.replicas) for phase in phases()[:caught_up])
    assert set(phases()[-1].replicas) == {1, 2}
    assert all(phase.leader in phase.replicas for phase in phases())


def test_a_partition_and_a_replica_go_only_ways_of_the_tables() -> None:
    assert partition_way()[0] == partition_way()[-1] == "NonExistent"
    way = replica_way()
    assert way.index("DeletionIneligible") < way.index("DeletionStarted") < len(way) - 1
    assert way[-1] == "NonExistent"


def test_each_figure_has_a_legend() -> None:
    drawn = figures()
    assert set(drawn) == {
        "figure-6-14",
        "partition-states",
        "replica-states",
        "who-gets-what",
        "reassignment",
    }
    assert all("bgcolor" in one.source.partition("node [")[0] for one in drawn.values())
