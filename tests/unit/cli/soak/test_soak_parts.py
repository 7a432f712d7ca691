"""The parts of the command `soak` that need no cluster: memory trends, flags, librdkafka's log
lines, the state file and the report.
"""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_edu.cli.soak.clients import Flags, TimeoutLog
from kafka_edu.cli.soak.memory import KEPT_SAMPLES, Life, Sample, thinned, trend
from kafka_edu.cli.soak.soak_report import report_of
from kafka_edu.cli.soak.state import Part, SoakState, SoakStateError


def life(megabytes: list[float]) -> Life:
    return Life(
        0,
        1,
        tuple(Sample(float(second * 60), mb, 10 + second) for second, mb in enumerate(megabytes)),
    )


def test_memory_that_grows_only_while_it_warms_up_is_flat() -> None:
    found = trend(life([20, 40, 60, 62, 62, 62, 62, 63, 62]))
    assert found is not None
    assert found.growth_percent == 0
    assert (found.first_mb, found.highest_mb, found.minutes) == (20, 63, 8.0)
    assert abs(found.slope_mb_per_hour) < 10


def test_memory_that_grows_all_the_time_is_not_flat() -> None:
    found = trend(life([float(60 + minute) for minute in range(30)]))
    assert found is not None
    assert found.growth_percent > 10
    assert found.slope_mb_per_hour == pytest.approx(60)
    assert found.file_handles_last_third > found.file_handles_second_third


def test_a_short_life_has_no_trend() -> None:
    assert trend(life([1, 2, 3])) is None


def test_thinned_samples_are_few_and_keep_the_last() -> None:
    samples = life([float(number) for number in range(1000)]).samples
    few = thinned(samples)
    assert len(few) <= KEPT_SAMPLES
    assert few[-1] == samples[-1]
    assert thinned(samples[:5]) == samples[:5]


def test_flags_count_each_number_once_and_say_what_is_missing() -> None:
    acked, read = Flags(), Flags()
    for number in (0, 3, 3, 100_000):
        acked.set(number)
    read.set(3)
    assert (acked.count, 100_000 in acked, 5 in acked) == (3, True, False)
    assert acked.missing_in(read) == [0, 100_000]


def test_only_lines_about_requests_in_flight_count_as_time_outs() -> None:
    log = TimeoutLog("producer")
    for text in (
        (
            "REQTMOUT [soak-producer] [thrd:127.0.0.1:9092/0]: 127.0.0.1:9092/0: Timed out 56"
            " in-flight, 0 retry-queued, 0 out-queue, 0 partially-sent requests"
        ),
        (
            "REQTMOUT [soak-producer] [thrd:127.0.0.1:9092/0]: 127.0.0.1:9092/0: Timed out 0"
            " in-flight, 0 retry-queued, 3 out-queue, 0 partially-sent requests"
        ),
        (
            "FAIL [soak-producer] [thrd:127.0.0.1:9092/0]: 127.0.0.1:9092/0: Connect to"
            " ipv4#127.0.0.1:9092 failed: Connection refused"
        ),
    ):
        log.logger.log(logging.WARNING, text)
    assert len(log.lines) == 1
    assert "Timed out 56 in-flight" in log.lines[0]


def test_a_state_is_read_as_it_was_written_and_adds_its_parts_up(tmp_path: Path) -> None:
    state = SoakState(
        [
            Part("a", seconds=30.0, requests_answered=5, acts={"pause and resume": 1}),
            Part("b", seconds=12.0, requests_answered=2),
        ]
    )
    state.save(tmp_path / "state.json")
    again = SoakState.load(tmp_path / "state.json")
    assert again == state
    assert again.seconds == 42.0
    assert report_of(again).figures["probe requests answered"] == 7


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"version": 99, "parts": []}', '{"version": 1, "parts": [{"no": "such field"}]}'],
)
def test_a_file_that_is_no_state_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(SoakStateError, match=r"other\.json"):
        SoakState.load(path)


def good_part() -> Part:
    return Part("now", seconds=3600.0, complete=True, requests_answered=10, records_acked=10)


@pytest.mark.parametrize(
    "trouble",
    [
        {"requests_stuck": 1},
        {"broker_stuck": 1},
        {"client_timeouts": ["Timed out 1 in-flight"]},
        {"records_lost": 1},
        {"records_not_read_by_group": 1},
        {"failed": "broker 0 ended"},
        {"trends": [{"minutes": 59.0, "growth_percent": 3.5}]},
    ],
)
def test_each_trouble_breaks_a_target(trouble: dict[str, object]) -> None:
    assert report_of(SoakState([good_part()])).holds
    part = good_part()
    for name, value in trouble.items():
        setattr(part, name, value)
    assert not report_of(SoakState([part, good_part()])).holds


def test_a_process_that_lived_too_short_sets_no_memory_target() -> None:
    part = good_part()
    part.trends = [{"minutes": 5.0, "growth_percent": 30.0}]
    report = report_of(SoakState([part]))
    assert report.holds
    assert report.figures["processes that lived long enough to show their memory flat"] == 0


def test_the_disk_writer_keeps_within_its_bound_and_removes_its_file(tmp_path: Path) -> None:
    noise, bound = tmp_path / "noise", 4 << 20
    process = subprocess.Popen(
        [sys.executable, "-m", "kafka_edu.cli.soak.noise", str(noise), str(bound)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert "longest_fsync_ms" in process.stdout.readline()
    assert noise.stat().st_size <= bound
    process.terminate()
    assert process.wait(30) == 0
    process.stdout.close()
    assert not noise.exists()
