"""The lines of the performance tools."""

import re

import pytest

from kafka_edu.tools.consumer_performance import java_date
from kafka_edu.tools.producer_performance import Stats


def test_the_line_of_totals(capsys: pytest.CaptureFixture[str]) -> None:
    stats = Stats(100, 1_000)
    for latency in range(1, 101):
        stats.record(latency, 1024, 1_500)
    stats.print_total(2_000)
    assert (
        capsys.readouterr().out
        == "100 records sent, 100.000000 records/sec (0.10 MB/sec), 50.50 ms avg latency, 100.00 ms"
        " max latency, 51 ms 50th, 96 ms 95th, 100 ms 99th, 100 ms 99.9th.\n"
    )


def test_every_five_seconds_there_is_a_line_of_the_last_five(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stats = Stats(3, 0)
    stats.record(2, 1024 * 1024, 100)
    stats.record(4, 1024 * 1024, 5_000)
    assert (
        capsys.readouterr().out
        == "2 records sent, 0.4 records/sec (0.40 MB/sec), 3.0 ms avg latency, 4.0 max latency.\n"
    )
    stats.record(7, 1024 * 1024, 10_000)
    assert (
        capsys.readouterr().out
        == "1 records sent, 0.2 records/sec (0.20 MB/sec), 7.0 ms avg latency, 7.0 max latency.\n"
    )


@pytest.mark.parametrize(
    ("pattern", "shape"),
    [
        ("yyyy-MM-dd HH:mm:ss:SSS", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:123"),
        ("yy/M/d", r"\d\d/\d{1,2}/\d{1,2}"),
        ("H'h' ''S", r"\d{1,2}h '123"),
    ],
)
def test_dates_are_javas(pattern: str, shape: str) -> None:
    assert re.fullmatch(shape, java_date(pattern, 1_600_000_000_123))
