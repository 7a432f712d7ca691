"""Numbers in readable form."""

import pytest

from kafka_edu.common.words import joined, plural
from tui.view_model.figures import (
    bar,
    clock,
    column,
    duration,
    per_second,
    short_count,
    size,
    span,
    sparkline,
)
from tui.view_model.rates import Rate
from tui.widgets.partition_matrix import lag_bar


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (size(12_411_000), "12.4 MB"),
        (size(999), "999 B"),
        (size(250e9), "250 GB"),
        (short_count(12_411), "12.4k"),
        (short_count(22), "22"),
        (per_second(0.44), "0.4/s"),
        (per_second(12_411.2), "12,411/s"),
        (duration(7), "7 ms"),
        (duration(1_400), "1.4 s"),
        (duration(42_000), "42 s"),
        (duration(725_000), "12 min 05 s"),
        (duration(299_900), "5 min 00 s"),
        (duration(7_500_000), "2 h 05 min"),
        (span(400), "400 ms"),
        (span(8_000), "8 s"),
        (span(1_500), "1500 ms"),
        (clock(192_000), "00:03:12"),
        (plural(1, "task"), "1 task"),
        (plural(2_000, "task"), "2,000 tasks"),
        (joined(["a", "b", "c", "d", "e"]), "a, b, c and 2 more"),
        (sparkline([0, 1, 2, 4], 6), "▁▁▁▃▅█"),
        (sparkline([], 3), "▁▁▁"),
        (bar(1, 1_000_000), "▂"),
        (lag_bar(0), "    "),
        (lag_bar(1), "▎   "),
        (lag_bar(10**6), "████"),
        (lag_bar(10**9), "████"),
    ],
)
def test_figures(said: str, wanted: str) -> None:
    assert said == wanted


def test_a_column_shows_the_least_thing_and_is_full_at_the_top() -> None:
    assert column(0, 10, 3) == [" ", " ", " "]
    assert column(0.001, 10, 3) == [" ", " ", "▁"]
    assert column(10, 10, 3) == ["█", "█", "█"]
    assert column(5, 10, 2) == [" ", "█"]


def test_a_rate_is_a_difference_by_time() -> None:
    rate = Rate()
    for tenth in range(21):
        rate.sample(1_000 * tenth, 100_000 * tenth)
    assert (list(rate.history), rate.total) == ([10_000.0] * 4, 20_000)
    rate.sample(5, 3_000_000)
    rate.sample(55, 3_500_000)
    assert rate.now == 100.0, "a total that fell is another process's"
