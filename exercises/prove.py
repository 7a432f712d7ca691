"""Prove the checks themselves (`lab check --solutions` and `--wrong`).

The reference solutions have to pass, and the wrong answers have to fail.
"""

import json
import runpy
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kafka_edu.common.busy_machine import NotJudgedError
from kafka_edu.supervisor.cluster import ClusterError

from .runner.check import Verdict, check_public
from .runner.live import check_live
from .runner.manifest import Exercise
from .runner.public_tests import PUBLIC, CheckError, Grading
from .runner.trouble import trouble_of
from .runner.verdict import Step
from .wrong_answers import WrongAnswer


class Proof(NamedTuple):
    """The result of the check of one file. It is known beforehand whether the file should pass."""

    exercise: Exercise
    file: str
    """The name of the solution file, or the number and name of a wrong answer."""
    as_expected: bool
    seen: str
    seconds: float


def prove_solutions(exercises: Iterable[Exercise], seed: int | None, live: bool) -> Iterator[Proof]:
    """Check each reference solution: it must pass all tests. Yield a result for each solution."""
    for exercise in exercises:
        began = time.monotonic()
        try:
            verdict = _checked_solution(exercise, seed, live)
        except (CheckError, NotJudgedError, ClusterError) as error:
            seconds = time.monotonic() - began
            yield Proof(exercise, exercise.solution.name, False, str(error), seconds)
            continue
        passed = sum(outcome.passed for outcome in verdict.public)
        seen = verdict.objection or f"{passed} of {len(verdict.public)} public tests"
        if not verdict.public_passed:
            seen += f", seed {verdict.seed}"
        good = verdict.public_passed
        if verdict.live is not None:
            steps = verdict.live
            seen += f", {sum(step.passed for step in steps)} of {len(steps)} live steps"
            good = verdict.passed
        yield Proof(exercise, exercise.solution.name, good, seen, time.monotonic() - began)


def _checked_solution(exercise: Exercise, seed: int | None, live: bool) -> Verdict:
    """Check a reference solution by the public tests. If they pass and `live` is set, run the live
    part too. Raises CheckError and NotJudgedError.
    """
    verdict = check_public(exercise, exercise.solution, seed)
    if not (live and verdict.public_passed and exercise.beyond_public):
        return verdict
    steps = (
        operate(exercise, exercise.solution)
        if exercise.trouble
        else tuple(check_live(exercise, exercise.solution, lambda _: None))
    )
    return verdict._replace(live=steps)


def prove_wrong(
    answers: Iterable[WrongAnswer], seed: int | None, live: bool = False
) -> Iterator[Proof]:
    """Check each wrong answer: it must fail, in the stated test and for the stated reason.

    Wrong answers that need a cluster are checked only with `live`. Raises WrongAnswerError.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-edu-wrong-") as folder:
        for wrong in answers:
            if wrong.live and not live:
                continue
            began = time.monotonic()
            file = wrong.write(Path(folder))
            try:
                verdict = check_public(
                    wrong.exercise, file, seed, grading=Grading((), None) if wrong.hidden else None
                )
                if wrong.live and verdict.public_passed:
                    verdict = verdict._replace(live=operate(wrong.exercise, file))
                good, seen = fails_as_stated(verdict, wrong)
            except (CheckError, NotJudgedError, ClusterError) as error:
                good, seen = False, str(error)
            yield Proof(
                wrong.exercise,
                f"{wrong.number} {wrong.name}",
                good,
                seen,
                time.monotonic() - began,
            )


def operate(exercise: Exercise, file: Path) -> tuple[Step, ...]:
    """Start a cluster with the trouble of seed 0, and carry out the actions that the list ACTS in
    `file` contains. Then check the state of the cluster.

    Return the steps of this check. Raises ClusterError.
    """
    trouble = trouble_of(exercise)
    acts = runpy.run_path(str(file))["ACTS"]
    with tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        trouble.begin(0, home, lambda _: None, home)
        try:
            trouble.perform(acts, home)
            return tuple(trouble.check_state(home, lambda _: None, home))
        finally:
            trouble.end(home)


def fails_as_stated(verdict: Verdict, wrong: WrongAnswer) -> tuple[bool, str]:
    """Return whether a wrong answer failed in the stated test for the stated reason, and how it
    failed.
    """
    failed = {outcome.test: outcome.message for outcome in verdict.public if not outcome.passed}
    failed |= {step.says: step.seen for step in verdict.live or () if not step.passed}
    found = [one.test for one in verdict.public if one.part == PUBLIC and not one.passed]
    if wrong.hidden and found:
        return False, f"a public test finds it: {found[0]}"
    message = failed.get(wrong.test)
    if message is None:
        others = ", ".join(failed) or verdict.objection or "nothing"
        return False, f"{wrong.test} did not fail; {others} did"
    if wrong.reason not in message:
        return False, f"{wrong.test} failed for another reason: {message}"
    return True, f"{wrong.test}: {wrong.reason}"


def show_proofs(console: Console, proofs: Iterable[Proof], expected: str) -> list[Proof]:
    """Show a table of the results, and return them.

    Until the table is complete, a terminal shows how many files have been checked. If the checks
    are stopped, the table has the results of the checks that have ended.
    """
    table = Table("exercise", "kind", "file", expected, "seen", "s")
    all_good, shown = True, []
    try:
        with console.status("the first check is running") as status:
            for proof in proofs:
                shown.append(proof)
                all_good &= proof.as_expected
                table.add_row(
                    proof.exercise.id,
                    proof.exercise.kind,
                    proof.file,
                    "[green]yes[/]" if proof.as_expected else "[red]no[/]",
                    Text(proof.seen),
                    f"{proof.seconds:.1f}",
                )
                how = "as expected" if all_good else "[red]not all as expected[/]"
                done = f"{table.row_count} checked, {how}; the last was of {proof.exercise.id}"
                status.update(done)
    finally:
        console.print(table)
    return shown


def write_proofs(proofs: Iterable[Proof], path: Path) -> None:
    """Write the results as a JSON list, with an object for each checked file."""
    document = [{**proof._asdict(), "exercise": proof.exercise.id} for proof in proofs]
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
