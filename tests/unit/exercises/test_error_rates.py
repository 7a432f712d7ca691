"""The right bursts of exercise 16-6, and their table."""

from random import Random

import pytest

from exercises.ch16_spark.error_rates import (
    Kind,
    RightAlarm,
    Row,
    Settings,
    random_batches,
    rows_of,
    shown,
)

SETTINGS = Settings(learn=2, least=10, times=4, rest=2)


def alarm_after(*minutes: tuple[int, int]) -> RightAlarm:
    """Return an alarm that has judged these minutes, each given as (failed lines, all lines)."""
    right = RightAlarm(SETTINGS)
    for minute, (failed, lines) in enumerate(minutes):
        right.batch(rows_of(minute, lines, failed), minute + 1)
    return right


def test_each_minute_has_its_kind() -> None:
    right = alarm_after((0, 20), (9, 9), (20, 20), (0, 20), (13, 20), (11, 20), (1, 9), (0, 20))
    assert [one.kind for one in right.judged] == [
        Kind.LEARNT,
        Kind.QUIET,
        Kind.LEARNT,
        Kind.CALM,
        Kind.CALM,
        Kind.CALM,
        Kind.QUIET,
        Kind.CALM,
    ]
    assert right.messages == []
    assert right.baseline() == (11, 40)


def test_a_burst_begins_and_ends_once() -> None:
    right = alarm_after((0, 20), (1, 20), (5, 20), (5, 5), (0, 90), (9, 20), (2, 90), (1, 90))
    assert right.messages == [("begins", 2), ("ends", 2, 6, 19)]
    assert right.baseline() == (1, 40)
    assert right.calm_in_a_row() == 2


def test_rows_that_are_too_late_change_nothing() -> None:
    right = alarm_after((0, 20), (1, 20))
    before = right.judged
    assert right.batch(rows_of(1, 50, 50), 2) == []
    assert right.judged == before
    assert right.too_late == rows_of(1, 50, 50)


def test_the_batches_do_not_matter_if_no_row_is_too_late() -> None:
    """All rows in one batch give the same messages as many batches."""
    for seed in range(20):
        settings = Settings(1 + seed % 4, 10, 3, 1 + seed % 3)
        many, one = RightAlarm(settings), RightAlarm(settings)
        last = 0
        for rows, until in random_batches(Random(seed), 30):
            many.batch(rows, until)
            last = until
        one.batch(many.rows, last)
        assert one.messages == many.messages
        assert one.judged == many.judged


def test_made_up_batches_have_everything_that_the_page_speaks_of() -> None:
    kinds: set[str] = set()
    names: set[object] = set()
    too_late = bots = 0
    for seed in range(10):
        right = RightAlarm(SETTINGS)
        for rows, until in random_batches(Random(seed), 12):
            assert until >= right.until
            assert all(row.lines for row in rows)
            right.batch(rows, until)
            too_late += len(right.too_late)
        kinds |= {one.kind for one in right.judged}
        names |= {message[0] for message in right.messages}
        bots += sum(one.bots for one in right.judged)
    assert kinds == set(Kind)
    assert names == {"begins", "ends"}
    assert too_late > 0
    assert bots > 0


def test_the_table_shows_what_decides() -> None:
    right = alarm_after((0, 20), (1, 20), (5, 20))
    right.batch([*rows_of(3, 40), Row(3, "ExampleBot", 200, 7), *rows_of(4, 9)], 4)
    assert right.drawn() == (
        "    minute  lines  failed   bots   baseline  kind",
        "         0     20       0      0        0/0  learnt",
        "         1     20       1      0       0/20  learnt",
        "         2     20       5      0       1/40  hot",
        "         3     40       0      7       1/40  calm, in a burst",
        "    until is 4, so these are not closed: 4",
    )
    assert right.drawn(around=0)[1:-1] == ("         0     20       0      0        0/0  learnt",)
    hot = right.of(2)
    assert hot is not None
    assert right.compared(hot) == "5 × 40 = 200 > 4 × (1 + 1) × 20 = 160"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], "[]"),
        (rows_of(1, 2), "[[1, 'Firefox/61.0', 200, 2]]"),
        ([Row(1, "a", 200, 1)] * 4, "[" + "[1, 'a', 200, 1], " * 3 + "… 4 rows]"),
    ],
)
def test_rows_are_shown_as_the_learner_gets_them(rows: list[Row], text: str) -> None:
    assert shown(rows) == text
