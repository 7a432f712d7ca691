"""A Spark learner that borrows the warm JVM: the notices that it shows, its loan, and the time that
a run must account for.
"""

import sys
import types
from pathlib import Path

import pytest

from exercises.runner import spark_learner
from exercises.runner.spark_learner import SparkLearner, SparkUsage
from exercises.runner.spark_process import Patches
from kafka_edu.common.busy_machine import Usage
from kafka_edu.learner.learner import Learner
from kafka_edu.spark.driver_client import NOT_WANTED, Drivers, Loan, NoDriver, ServiceState
from kafka_edu.spark.driver_keeper import BUSY

SERVICE, RUN = 50, 70


class LentJvm(Loan):
    """A loan without a service."""

    def __init__(self) -> None:
        self.service = SERVICE
        self.news = ["records are lost"]
        self.closed = False

    def notices(self) -> list[str]:
        new, self.news = self.news, []
        return new

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "output"


def learner_with(
    got: Loan | NoDriver, output: Path, monkeypatch: pytest.MonkeyPatch
) -> SparkLearner:
    """A learner who borrows this."""
    monkeypatch.setattr(spark_learner, "borrowed", lambda: got)
    return SparkLearner(Path("jobs.py"), "build", output=output.open("wb"))


def test_notices_are_shown_where_the_prints_are(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loan = LentJvm()
    learner = learner_with(loan, output, monkeypatch)
    monkeypatch.setattr(Learner, "start", lambda _: None)
    monkeypatch.setattr(Learner, "ask", lambda *_: {})
    learner.batch("number int", [])
    assert output.read_text() == "kafka-edu: records are lost\n"
    loan.news = ["a segment is left out"]
    learner.close()
    assert output.read_text().endswith("\nkafka-edu: a segment is left out\n")
    assert loan.closed


def test_a_process_that_cannot_be_started_leaves_no_loan(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loan = LentJvm()
    learner = learner_with(loan, output, monkeypatch)

    def refuse(_: Learner) -> None:
        raise OSError("too many processes")

    monkeypatch.setattr(Learner, "start", refuse)
    with pytest.raises(OSError, match="too many processes"):
        learner.batch("number int", [])
    assert loan.closed


@pytest.mark.parametrize(
    ("why", "shown"), [(BUSY, False), (NOT_WANTED, False), ("Spark needs Java 17", True)]
)
def test_the_reason_for_no_warm_jvm_is_shown_if_the_user_can_change_it(
    why: str, shown: bool, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = learner_with(NoDriver(why), output, monkeypatch)
    monkeypatch.setattr(Learner, "start", lambda _: None)
    learner.start()
    assert learner.no_warm_jvm == why
    said = f"kafka-edu: no JVM of Spark is kept ({why}); this job starts one of its own\n"
    assert output.read_text() == (said if shown else "")


class OneService(Drivers):
    """A service with this user."""

    def __init__(self) -> None:
        self.state: ServiceState | None = None

    def running(self) -> ServiceState | None:
        return self.state

    def has(self, user: int, pid: int = SERVICE) -> None:
        self.state = ServiceState(pid, 1, 1, "", "", user)


def test_a_run_is_charged_only_what_the_service_does_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used = {RUN: 1.0, SERVICE: 500.0, SERVICE + 1: 9.0}
    monkeypatch.setattr(
        spark_learner, "family_usage", lambda pid: Usage(0.0, used[pid], {pid: 2.0})
    )
    monkeypatch.setattr(spark_learner, "family_of", lambda pid: {pid: [], pid + 1: []})
    drivers = OneService()
    drivers.has(user=3)
    usage = SparkUsage(drivers)

    def charged(more_s: float, service: int = SERVICE) -> float | None:
        used[service] += more_s
        return usage(RUN).processor_s

    assert charged(0.0) == 1.0
    assert charged(30.0) == 1.0, "another user has it"
    drivers.has(user=RUN + 1)
    assert charged(4.0) == 5.0, "a process of this run has it"
    assert usage(RUN).waited_s == {RUN: 2.0, SERVICE: 2.0}
    drivers.has(user=0)
    assert charged(7.0) == 5.0, "it is cleaned"
    assert usage(RUN).waited_s == {RUN: 2.0}
    drivers.state = None
    assert usage(RUN).processor_s == 5.0, "what was used stays"
    drivers.has(user=RUN, pid=SERVICE + 1)
    assert charged(1.0, SERVICE + 1) == 15.0, "this run has started it"


def test_new_code_in_an_old_function_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def col(name: str) -> str:
        return name

    def other(name: str) -> str:
        return name * 2

    module = types.ModuleType("pyspark.of_this_test")
    module.col = col  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    patches = Patches()
    assert not patches.found()
    col.__code__ = other.__code__
    assert patches.found()
