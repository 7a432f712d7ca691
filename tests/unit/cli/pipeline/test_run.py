"""How fast the pipeline writes records for its stream, and how far in time the partitions of the
topic may be apart.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kafka_edu.clients.web_log.records import LogRecord

LINES_A_SECOND = 25.0


@pytest.fixture(autouse=True)
def _spark() -> None:
    """Skip all tests if PySpark is not installed. Therefore modules that need it are imported
    inside the tests.
    """
    pytest.importorskip("pyarrow", reason="PySpark is not installed: ./kafka-edu setup spark")


@pytest.mark.parametrize("lines", [1_000, 5_000, 20_000, 50_000, 100_000, 1_000_000])
def test_three_seconds_between_two_partitions_are_allowed(lines: int) -> None:
    from kafka_edu.cli.pipeline.run import apart_s, stream_rate
    from kafka_edu.clients.web_log.generator import LogSettings
    from kafka_edu.clients.web_log.small_logs import for_lines

    log = for_lines(LogSettings(1, lines_a_second=LINES_A_SECOND), lines)
    times_as_fast = stream_rate(lines) / log.lines_a_second
    assert 3 * times_as_fast <= apart_s(lines)


def test_a_small_log_is_written_in_a_hundred_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_edu.clients.web_log.generator import LogSettings
    from kafka_edu.spark import pipeline_log

    sent: list[int] = []

    class Writer:
        def __init__(self, *_: str) -> None:
            self.ends: dict[int, int] = {}

        def send(self, records: "Iterable[LogRecord]") -> None:
            sent.append(len(list(records)))

        def flush(self) -> None:
            pass

    monkeypatch.setattr(pipeline_log, "TopicWriter", Writer)
    for rate, slices in ((1e9, [10] * 100), (None, [1_000])):
        feeder = pipeline_log.LogFeeder("none:1", "log", 1_000, LogSettings(1))
        feeder.feed(rate)
        assert sent == slices
        sent.clear()
    assert feeder.truth.lines == 1_000
