"""A plot in letters keeps its peaks, its scale and its labels."""

from kafka_edu.cli.pipeline.terminal_plot import column_plot

LABELS = ("00:00", "01:00")


def test_columns_grow_from_below_in_eighths() -> None:
    lines = column_plot("rate", [0, 1, 4, 8], LABELS, "%", (4, 2))
    assert lines == ["rate: at most 8 %", "   █", " ▂██", "00:00 01:00"]


def test_few_values_are_wide_and_the_last_label_stands_under_the_last() -> None:
    lines = column_plot("rate", [1, 1, 1, 1], LABELS, "%", (40, 1))
    assert lines[1] == "█" * 24
    assert lines[2] == "00:00" + " " * 14 + "01:00"


def test_a_peak_among_many_values_is_not_lost() -> None:
    values = [1.0] * 1000
    values[437] = 8
    lines = column_plot("p99", values, LABELS, "ms", (50, 1))
    assert lines[1].count("█") == 1
    assert len(lines[1]) == 50


def test_nothing_but_zeros() -> None:
    assert column_plot("rate", [0, 0], LABELS, "%", (2, 1))[1] == ""
