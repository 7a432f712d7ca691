"""The timer benchmark: it runs, it compares timers that work, and its report has the common
form.
"""

import gc
import json
from pathlib import Path

import pytest

from benchmarks import timer
from benchmarks.timer import count_steps, main, simulate
from benchmarks.timer_contestants import CONTESTANTS, LazyHeap, Operation, Wheel
from kafka_edu.cli.report import Report, number


@pytest.mark.parametrize("name", CONTESTANTS)
def test_each_contestant_runs_what_is_due_and_not_what_was_cancelled(name: str) -> None:
    now_ms = 0
    contestant = CONTESTANTS[name](lambda: now_ms)
    ran: list[int] = []

    class Recorded(Operation):
        __slots__ = ()

        def run(self) -> None:
            ran.append(self.delay_ms)

    operations = [Recorded(delay_ms) for delay_ms in (50, 30, 40, 10, 20)]
    for operation in operations:
        contestant.insert(operation)
    assert contestant.held() == 5
    contestant.cancel(operations[1])
    contestant.cancel(operations[3])
    for now_ms in range(46):
        contestant.advance(now_ms)
    assert ran == [20, 40]
    assert contestant.held() == 1
    contestant.close()


@pytest.fixture
def light_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate three requests a ms instead of ten.

    The benchmark collects garbage many times. Objects that earlier tests have left would make each
    time slow, so they are set aside.
    """
    monkeypatch.setattr(timer, "REQUESTS_PER_MS", 3)
    gc.freeze()


@pytest.mark.usefixtures("light_load")
def test_the_lazy_heap_holds_the_dead_and_the_wheel_does_not() -> None:
    lazy, wheel = simulate(LazyHeap, 1, traced=False), simulate(Wheel, 1, traced=False)
    assert lazy.entries > 2_500
    assert wheel.entries < 210


def test_steps_are_counted_alike_each_time_and_flat_for_the_wheel() -> None:
    assert count_steps(Wheel, 100, samples=20) == count_steps(Wheel, 10_000, samples=20) > 100
    assert count_steps(LazyHeap, 10_000, samples=20) > count_steps(LazyHeap, 100, samples=20)


@pytest.mark.usefixtures("light_load")
def test_writes_figures_and_targets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "timer.json"
    assert main(["--max", "1000", "--repeats", "1", "--seconds", "1", "--json", str(path)]) == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["name"] == "timer"
    assert document["figures"]["steady state, heap, lazy: entries held"] > 2_500
    assert [target["relation"] for target in document["targets"]] == [">=", ">=", "<="]
    assert all(
        set(target) == {"name", "value", "relation", "target", "holds"}
        for target in document["targets"]
    )
    assert "counted steps" in capsys.readouterr().out


def test_a_report_says_what_holds() -> None:
    report = Report("x")
    report.figure("a ms", 1.5)
    report.target("a", 1.5, ">=", 1.8)
    assert not report.holds
    with pytest.raises(ValueError, match="two figures"):
        report.figure("a ms", 2)
    with pytest.raises(ValueError, match="is not one of"):
        report.target("a", 1, "=>", 1)


def test_numbers_are_readable() -> None:
    assert [number(value) for value in (12, 1234567, 1.8, 0.12345, 1234.5)] == [
        "12",
        "1,234,567",
        "1.8",
        "0.123",
        "1,234",
    ]
