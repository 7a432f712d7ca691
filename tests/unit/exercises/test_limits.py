"""The time limits of `lab check` and of its live part, on a busy machine."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from exercises import prove
from exercises.prove import Proof, prove_solutions, prove_wrong, show_proofs
from exercises.runner import check as checking
from exercises.runner import live, public_tests
from exercises.runner.check import Attempt, check_public, fair_attempt
from exercises.runner.live import PATIENCE_S, check_live
from exercises.runner.manifest import Exercise, find_exercise
from exercises.runner.public_tests import (
    LIMITS,
    CheckError,
    Limits,
    Outcome,
    Run,
    TooSlowError,
    limits_now,
    wait_within,
)
from exercises.runner.verdict import Step
from exercises.wrong_answers import wrong_answer
from kafka_edu.clients.client_errors import TimeoutException
from kafka_edu.common.busy_machine import (
    Allowance,
    Hogs,
    Meter,
    NotJudgedError,
    Spent,
    Usage,
)
from kafka_edu.learner.learner import Used
from kafka_edu.supervisor.cluster import ClusterError

EXERCISE: Final = find_exercise("02-1")
WIDE: Final = LIMITS._replace(call=LIMITS.call.widened(0.2, 0.0))
RIGHT: Final = Outcome("test_due", "", True)
LATE: Final = Outcome("test_due", "", False, "did not come back", timed_out=True)


def run_of(*outcomes: Outcome, used: Used = Used()) -> Run:  # noqa: B008  # it is a tuple
    return Run(outcomes, used, Spent(1.0, 1.0, 0.0))


def test_an_answer_in_time_asks_no_reference() -> None:
    def never() -> Limits:
        raise AssertionError("the reference was run")

    assert fair_attempt(lambda _: Attempt("no such file"), LIMITS, never).against == "no such file"


def test_a_late_answer_is_tried_again_only_if_the_reference_needs_more() -> None:
    within: list[Limits] = []

    def attempt(limits: Limits) -> Attempt:
        within.append(limits)
        return Attempt("late", timed_out=True) if limits == LIMITS else Attempt("wrong")

    assert fair_attempt(attempt, LIMITS, lambda: LIMITS).against == "late"
    assert within == [LIMITS]
    assert fair_attempt(attempt, LIMITS, lambda: WIDE).against == "wrong"
    assert within == [LIMITS, LIMITS, WIDE]


def test_the_limits_are_20_times_what_the_reference_used(monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[Run | CheckError] = [run_of(RIGHT, used=Used(0.2, 0.5))]

    def run(*_: object, **__: object) -> Run:
        if isinstance(came[0], CheckError):
            raise came[0]
        return came[0]

    monkeypatch.setattr(public_tests, "run_public_tests", run)
    limits = limits_now(EXERCISE, 7)
    assert (limits.call.processor_s, limits.call.clock_s) == (4.0, 10.0)
    assert limits.call.idle_s == LIMITS.call.idle_s
    came[0] = run_of(LATE)
    with pytest.raises(NotJudgedError, match=r"test_due \(did not come back\)"):
        limits_now(EXERCISE, 7)
    came[0] = TooSlowError("the tests were not through")
    with pytest.raises(NotJudgedError, match="not through"):
        limits_now(EXERCISE, 7)
    students = EXERCISE._replace(solution=Path("/no/solutions/in/this/copy.py"))
    assert limits_now(students, 7) == LIMITS


def test_a_check_is_not_judged_while_the_reference_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def busy(*_: object) -> Limits:
        raise NotJudgedError("test_due: did not come back")

    monkeypatch.setattr(checking, "limits_now", busy)
    monkeypatch.setattr(
        checking, "attempt", lambda *_, **__: Attempt("", run_of(LATE), timed_out=True)
    )
    with pytest.raises(NotJudgedError):
        check_public(EXERCISE, EXERCISE.solution)
    (proof,) = prove_solutions([EXERCISE], 7, live=False)
    assert not proof.as_expected
    assert "not judged" in proof.seen
    (proof,) = prove_wrong([wrong_answer(EXERCISE, "rounded_up")], 7)
    assert "not judged" in proof.seen


def test_a_cluster_that_fails_is_a_result_and_the_table_is_shown_in_any_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    live = wrong_answer(find_exercise("16-18s"), "nothing_done")

    def fails(*_: object) -> tuple[Step, ...]:
        raise ClusterError("the query seems to hang")

    passed = checking.Verdict("16-18s", "report.py", 1, "", run_of(RIGHT).outcomes, None)
    monkeypatch.setattr(prove, "check_public", lambda *_, **__: passed)
    monkeypatch.setattr(prove, "operate", fails)
    (proof,) = prove_wrong([live], 1, live=True)
    assert (proof.as_expected, proof.seen) == (False, "the query seems to hang")

    def stopped() -> Iterator[Proof]:
        yield proof
        raise KeyboardInterrupt

    shown = StringIO()
    with pytest.raises(KeyboardInterrupt):
        show_proofs(Console(file=shown, width=120), stopped(), "fails as stated")
    assert "the query seems to hang" in shown.getvalue()


def test_a_run_is_stopped_by_what_it_spends() -> None:
    """A run may wait for a core for any time. It is stopped when it has slept or computed too
    long.
    """

    def meter_of(*usages: Usage) -> Callable[[int], Meter]:
        left = list(usages)
        return lambda pid: Meter(pid, lambda _: left.pop(0))

    allowance = Allowance(processor_s=60.0, idle_s=30.0)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        waits = Usage(9000.0, 1.0, {7: 8999.0}), Usage(9999.0, 1.0, {7: 9998.0})
        with pytest.raises(TooSlowError, match="within 30 s, in which it did nothing"):
            wait_within(
                process,
                allowance,
                meter_of(Usage(0.0, 0.0), *waits, Usage(10_100.0, 1.0, {7: 9998.0})),
            )
        busy = Usage(0.0, 0.0), Usage(9.0, 61.0)
        with pytest.raises(TooSlowError, match="within 60 s of processor time"):
            wait_within(process, allowance, meter_of(*busy))
        process.communicate(b"\n")
    spent = wait_within(process, allowance, meter_of(Usage(0.0, 0.0), Usage(9.0, 1.0, {7: 8.0})))
    assert spent.processor_s == 1.0


class Part:
    """A live part. Each run gives the next steps, and takes the next number of seconds."""

    def __init__(self, *runs: tuple[float, list[Step] | Exception]) -> None:
        self._runs = list(runs)
        self.now_s = 0.0
        self.asked: list[tuple[Path | None, float]] = []

    def clock(self) -> float:
        return self.now_s

    def check_live(
        self, exercise: Exercise, file: Path | None, say: object, patience_s: float
    ) -> Iterator[Step]:
        self.asked.append((file, patience_s))
        took_s, steps = self._runs.pop(0)
        self.now_s += took_s
        if isinstance(steps, Exception):
            raise steps
        yield from steps


MINE: Final = Path("mine.py")
FIRST: Final = Step("produces are acked", True, "50 of 50")
GOOD: Final = Step("fetches time out", True, "6")
SLOW: Final = Step("fetches time out", False, "2 timed out, 6 should have", late=True)
LAST: Final = Step("your code did it", True, "asked 9 times")


def lived(monkeypatch: pytest.MonkeyPatch, part: Part, exercise: Exercise = EXERCISE) -> list[Step]:
    monkeypatch.setattr(live, "live_part", lambda _: part)
    return list(check_live(exercise, MINE, lambda _: None, part.clock))


def test_a_live_part_that_is_right_or_wrong_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    early = Step("fetches time out", False, "2 ran too early")
    for steps in ([FIRST, GOOD, LAST], [FIRST, early, LAST]):
        part = Part((20.0, list(steps)))
        assert lived(monkeypatch, part) == steps
        assert part.asked == [(MINE, PATIENCE_S)]


def test_a_late_step_is_a_fault_if_the_reference_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Part((50.0, [FIRST, SLOW, LAST]), (14.0, [FIRST, GOOD, LAST]))
    assert lived(monkeypatch, part) == [FIRST, SLOW, LAST]
    assert [file for file, _ in part.asked] == [MINE, EXERCISE.solution]


def test_a_late_step_gets_twice_the_time_of_a_slow_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = Part(
        (50.0, [FIRST, SLOW, LAST]), (70.0, [FIRST, GOOD, LAST]), (90.0, [FIRST, GOOD, LAST])
    )
    assert lived(monkeypatch, part) == [FIRST, GOOD, LAST], "the first step is shown once"
    assert part.asked[-1] == (MINE, 140.0)


def test_no_live_part_counts_while_the_reference_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = TimeoutException("delete_records took too long")
    for fails in ([FIRST, SLOW], ClusterError("no controller"), refused, TimeoutError("timed out")):
        part = Part((50.0, [FIRST, SLOW]), (300.0, fails))
        with pytest.raises(NotJudgedError, match="try later"):
            lived(monkeypatch, part)


def test_a_cluster_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for fails in (TimeoutError("timed out"), TimeoutException("delete_records took too long")):
        part = Part((50.0, fails), (14.0, [GOOD]), (20.0, [GOOD]))
        assert lived(monkeypatch, part) == [GOOD]
        assert part.asked[-1] == (MINE, PATIENCE_S)


def test_a_copy_without_solutions_asks_the_shipped_code(monkeypatch: pytest.MonkeyPatch) -> None:
    students = EXERCISE._replace(solution=Path("/no/solutions/in/this/copy.py"))
    part = Part((50.0, [FIRST, SLOW]), (10.0, [FIRST, GOOD]))
    assert lived(monkeypatch, part, students) == [FIRST, SLOW]
    assert part.asked[-1][0] is None
    with pytest.raises(ClusterError, match="no controller"):
        lived(monkeypatch, Part((50.0, ClusterError("no controller"))), students)


@pytest.mark.labs
def test_beside_hogs_a_right_answer_passes_and_an_endless_loop_fails(tmp_path: Path) -> None:
    """In earnest, with two hogs a core."""
    file = tmp_path / EXERCISE.file
    source = EXERCISE.solution.read_text(encoding="utf-8")
    file.write_text(
        source.replace("        return self.overflow_wheel.add(", "        while True: pass\n#"),
        encoding="utf-8",
    )
    with Hogs(2 * (os.cpu_count() or 1)):
        right = check_public(EXERCISE, EXERCISE.solution, 7)
        endless = check_public(EXERCISE, file, 7, limits=LIMITS)
    assert right.public_passed, right
    assert endless.public[-1].timed_out
    assert "of processor time" in endless.public[-1].message
