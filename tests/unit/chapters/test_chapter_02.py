"""Chapter 02 computes the same numbers as the book, and draws the timing wheel from the wheel's own
events.
"""

import re

import pytest

from chapters.ch02_timing_wheel import figures as drawing
from chapters.ch02_timing_wheel.pictures import DRAWINGS, figures
from chapters.ch02_timing_wheel.story import Story
from kafka_edu.trace.events.timer import WheelState

#: What the books say, apart from their errata.
BOOK = {
    "one-wheel": {"slot_2": "2", "slot_8": "10", "slot_19": "1"},
    "second-level": {"level_350": "2", "slot_350": "17"},
    "third-level": {"level_450": "3", "slot_450": "1", "in_bucket": "4"},
    "demotions": {
        "moves_450": "2",
        "down_1_at": "400",
        "down_1_level": "2",
        "down_1_slot": "2",
        "down_2_at": "440",
        "down_2_level": "1",
        "down_2_slot": "10",
        "ran_at": "450",
    },
    "clock": {"hour_slot": "3", "minute_slot": "25", "second_slot": "40"},
    "a-to-d": {"ran_a": "0", "ran_b": "1000", "ran_c": "1000", "ran_d": "3000"},
    "last-round": {"ran_8": "8", "came_down": "1", "down_task": "9 ms"},
}


@pytest.mark.parametrize("name", BOOK)
def test_a_picture_binds_the_numbers_of_the_book(name: str) -> None:
    assert DRAWINGS[name]().names == BOOK[name]


def test_the_arrows_of_figure_6_8_end_where_the_tasks_go_next() -> None:
    """The tasks of 446, 450 and 455 ms are in one bucket of 20 ms. The task of 473 ms is in the
    next bucket.
    """
    arrows = re.findall(
        r"(w\d:s\d+):s -> (w\d:s\d+):n \[label=\" (.+?) *\"", figures()["figure-6-8"].source
    )
    assert sorted(arrows) == [
        ("w2:s17", "w1:s10", "1 task at 340 ms"),
        ("w3:s1", "w2:s2", "3 tasks at 400 ms"),
        ("w3:s1", "w2:s3", "1 task at 400 ms"),
    ]
    for figure in figures().values():
        assert "the hand" in figure.source, "there is a legend"
        assert "number of tasks" in figure.source


def test_the_lazy_heap_holds_a_half_minute_and_the_wheel_what_waits() -> None:
    assert DRAWINGS["lazy-heap"]().names == {"heap_holds": "30000", "wheel_holds": "5"}


def test_each_event_is_told_at_its_time() -> None:
    story = Story()
    story.add(350)
    assert [at_ms for at_ms, _ in story.until(400)] == [340, 350]


def test_due_times_and_hands_are_read_from_the_event() -> None:
    wheel = WheelState(
        timer="t",
        level=2,
        tick_ms=20,
        wheel_size=20,
        current_time_ms=460,
        tasks_by_slot=(0,) * 20,
        made_ms=0,
        made_for_delay_ms=0,
    )
    assert drawing.hand(wheel) == 3
    assert [drawing.due_ms(wheel, slot) for slot in (3, 4, 2)] == [460, 480, 840]


def test_spans_are_short() -> None:
    assert [drawing.span(ms) for ms in (1, 20, 400, 8_000, 160_000, 3_200_000, 64_000_000)] == [
        "1 ms",
        "20 ms",
        "400 ms",
        "8 s",
        "2.67 min",
        "53.3 min",
        "17.8 h",
    ]
