"""`bench recovery` and `bench idle-partitions`: how they turn measurements into figures."""

import os
from collections.abc import Callable

import pytest

from benchmarks import idle_partitions, recovery
from benchmarks.idle_partitions import Idle
from benchmarks.one_broker import APACHE, OURS, bytes_read
from benchmarks.recovery import MEGABYTE, Start


def test_medians_of_the_starts_are_compared() -> None:
    found = {
        OURS: [Start(9.0, 100 * MEGABYTE), Start(2.0, 110 * MEGABYTE), Start(1.0, 105 * MEGABYTE)],
        APACHE: [Start(4.0, 100 * MEGABYTE)] * 3,
    }
    clean = {OURS: Start(0.5, 6 * MEGABYTE), APACHE: Start(3.0, 12 * MEGABYTE)}
    report = recovery.report_of(found, clean, 64)
    assert [(t.value, t.holds) for t in report.targets] == [(0.5, True), (1.05, False)]
    assert report.figures["ours: slowest, seconds"] == 9.0
    assert report.figures["ours: MiB read after kill -9"] == 105.0
    assert report.figures["Apache Kafka 2.8.2: seconds after a clean stop"] == 3.0


def test_the_memory_of_a_partition_is_what_was_added() -> None:
    found = {
        OURS: Idle(20 * MEGABYTE, 50 * MEGABYTE, 9_100, 3.0),
        APACHE: Idle(300 * MEGABYTE, 400 * MEGABYTE, 9_300, 9.0),
    }
    report = idle_partitions.report_of(found, 3000)
    assert [(t.value, t.holds) for t in report.targets] == [(0.125, True)]
    assert report.figures["ours: KiB a partition"] == 10.2


def test_what_a_process_reads_is_counted() -> None:
    before = bytes_read(os.getpid())
    with open(__file__, "rb") as file:
        size = len(file.read())
    assert bytes_read(os.getpid()) - before >= size


@pytest.mark.parametrize(
    ("main", "arguments", "why"),
    [
        (recovery.main, ["--megabytes", "4000"], "--megabytes is 1 to 2000"),
        (recovery.main, ["--repeats", "0"], "--repeats is at least 1"),
        (idle_partitions.main, ["--partitions", "0"], "--partitions is 1 to 10000"),
    ],
)
def test_bad_options(
    main: Callable[[list[str]], int],
    arguments: list[str],
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert why in capsys.readouterr().err
