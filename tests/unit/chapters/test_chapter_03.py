"""Chapter 03's pictures agree with the book and with Kafka. The broker's own classes compute
them.
"""

import itertools

import pytest

from chapters.ch03_delayed_operations.pictures import DRAWINGS, Moment, figure
from kafka_edu.common.errors import Errors

SAID = {
    "three-logs": {
        "needs_hw": "5",
        "has_hw": "3",
        "behind": "broker 2",
        "behind_id": "2",
        "behind_at": "3",
        "waits_at_6_10": "yes",
        "answered_by_first_fetch": "no",
        "base_offset": "3",
        "hw_after": "5",
    },
    "time-out": {"timeout_error": Errors.REQUEST_TIMED_OUT.name, "stays": "1", "hw_later": "1"},
    "long-poll": {"poll_first": "0", "poll_woken": "1", "poll_before": "0", "poll_after": "1"},
    "min-bytes": {"batch_bytes": "75", "min_bytes": "225", "produces": "3"},
    "lost-wake-up": {
        "orders_once": "6",
        "lost_once": "1",
        "orders_swapped": "6",
        "lost_swapped": "0",
        "orders_twice": "10",
        "lost_twice": "0",
        "lost_order": "try, raise HW, check watchers, watch",
    },
    "left-in-lists": {"left_entries": "2002", "after_purge": "0", "purge_after": "1001"},
}


@pytest.mark.parametrize("name", SAID)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    assert DRAWINGS[name]().names == SAID[name]


def test_each_reader_is_woken_by_its_own_end_of_the_log() -> None:
    names = DRAWINGS["who-wakes"]().names
    table = {
        (moment, reader): names[f"{moment}_{reader}"] == "answered"
        for moment, reader in itertools.product(
            ("before", "leo", "hw", "lso"), ("follower", "consumer", "committed")
        )
    }
    woken = {key for key, answered in table.items() if answered}
    assert woken == {
        ("leo", "follower"),
        ("hw", "follower"),
        ("hw", "consumer"),
        ("lso", "follower"),
        ("lso", "consumer"),
        ("lso", "committed"),
    }


def test_the_figure_marks_what_is_committed() -> None:
    legend, _, source = figure(Moment("x", (1, 0), (2, 1))).source.partition("\tlogs0 [")
    assert "below the HW" in legend
    assert source.count("#a8dadc") == 1, "only offset 0 of the leader lies below its HW"
    assert source.count("#ffd166") == 2
