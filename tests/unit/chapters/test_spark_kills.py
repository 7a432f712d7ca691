"""The demo spark-kills: its report when something is missing, and how it catches a batch."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chapters.ch16_spark.kills import Killed, Outcome, StreamJob, report_of
from kafka_edu.cli.progress import Progress
from kafka_edu.spark.pipeline_answers import Comparison

RIGHT = Comparison("lines", 9, 9, 0)
ALL = Outcome(Killed({"lines": 3}, 1, 1, 2), [RIGHT], 9, (12, 9), (18, 9), 70.0)


def missed(outcome: Outcome) -> list[str]:
    return [target.name for target in report_of(outcome).targets if not target.holds]


def test_the_report_holds_when_every_line_is_there_once() -> None:
    report = report_of(ALL)
    assert report.holds
    assert report.figures["lines sent"] == 9
    values = {target.name: target.value for target in report.targets}
    assert values["at least once, topic: lines doubled"] == 3
    assert values["at least once, Parquet: lines doubled"] == 9


def test_a_difference_does_not_hold() -> None:
    wrong = ALL._replace(comparisons=[RIGHT, Comparison("lines lost", 0, 2, 1)])
    assert missed(wrong) == ["differences from the truth: lines lost"]


def test_an_output_that_doubled_nothing_shows_nothing() -> None:
    assert missed(ALL._replace(parquet_rows=(9, 9))) == ["at least once, Parquet: lines doubled"]


def test_a_kill_that_found_no_batch_does_not_hold() -> None:
    assert missed(ALL._replace(killed=Killed({}, 1, 1, 2))) == [
        "jobs killed in the middle of a batch"
    ]


def test_without_a_full_java_the_executors_kill_is_said_to_be_missing() -> None:
    report = report_of(ALL._replace(killed=Killed({"lines": 3}, 0, 1, 2)))
    assert report.holds
    assert report.figures["executors killed"] == "not shown: there is no full Java"
    assert "executors killed" not in [target.name for target in report.targets]


class HeldJob(StreamJob):
    """A stand-in for the streaming job: any process. It records no batches."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def family(self) -> list[int]:
        assert self._process is not None
        return [self._process.pid]

    def _note(self, progress: Progress) -> None: ...


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield started
    started.kill()
    started.wait()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="a state is read from /proc")
def test_the_job_stands_still_while_the_demo_looks_at_its_batches(
    process: subprocess.Popen[bytes],
) -> None:
    def state() -> str:
        text = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii")
        return text.rpartition(")")[2].split()[0]

    looks: list[str] = []

    def is_so() -> bool:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)  # returns when the stop has happened
        looks.append(state())
        return len(looks) == 3

    job = HeldJob(process)
    job.wait_until(is_so, "the third look", hold=True)
    assert looks == ["T"] * 3, "it stood still in each look, and went on in between"
    assert state() == "T", "it still stands when the demo kills it"
    job.kill([process.pid])
    assert process.returncode == -signal.SIGKILL
