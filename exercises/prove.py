"""`lab check --all`: prove the checks themselves, by reference solutions and by wrong answers."""

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .runner.check import Verdict, check_public, live_part
from .runner.manifest import Exercise, WrongAnswer


class Proof(NamedTuple):
    """What came of checking one file whose result is known beforehand."""

    exercise: Exercise
    file: str
    as_expected: bool
    seen: str
    seconds: float


def prove_solutions(exercises: Iterable[Exercise], seed: int | None, live: bool) -> Iterator[Proof]:
    """Check each reference solution: all of it must pass."""
    for exercise in exercises:
        began = time.monotonic()
        verdict = check_public(exercise, exercise.solution, seed)
        passed = sum(outcome.passed for outcome in verdict.public)
        seen = verdict.objection or f"{passed} of {len(verdict.public)} public tests"
        if not verdict.public_passed:
            seen += f", seed {verdict.seed}"
        good = verdict.public_passed
        if live and good and exercise.live:
            steps = tuple(
                live_part(exercise).check_live(exercise, exercise.solution, lambda _: None)
            )
            verdict = verdict._replace(live=steps)
            seen += f", {sum(step.passed for step in steps)} of {len(steps)} live steps"
            good = verdict.passed
        yield Proof(exercise, exercise.solution.name, good, seen, time.monotonic() - began)


def prove_wrong(exercises: Iterable[Exercise], seed: int | None) -> Iterator[Proof]:
    """Check each wrong answer: it must fail, in the stated test and for the stated reason."""
    for exercise in exercises:
        for wrong in exercise.wrong:
            began = time.monotonic()
            verdict = check_public(exercise, wrong.file, seed)
            good, seen = fails_as_stated(verdict, wrong)
            yield Proof(exercise, wrong.file.name, good, seen, time.monotonic() - began)


def fails_as_stated(verdict: Verdict, wrong: WrongAnswer) -> tuple[bool, str]:
    """Return whether a wrong answer failed for its own reason, and how it failed."""
    failed = {outcome.test: outcome for outcome in verdict.public if not outcome.passed}
    outcome = failed.get(wrong.test)
    if outcome is None:
        others = ", ".join(failed) or verdict.objection or "nothing"
        return False, f"{wrong.test} did not fail; {others} did"
    if wrong.reason not in outcome.message:
        return False, f"{wrong.test} failed for another reason: {outcome.message}"
    return True, f"{wrong.test}: {wrong.reason}"


def show_proofs(console: Console, proofs: Iterable[Proof], expected: str) -> bool:
    """Show a table, and return whether all came out as expected."""
    table = Table("exercise", "kind", "file", expected, "seen", "s")
    all_good = True
    for proof in proofs:
        all_good &= proof.as_expected
        table.add_row(
            proof.exercise.id,
            proof.exercise.kind,
            proof.file,
            "[green]yes[/]" if proof.as_expected else "[red]no[/]",
            Text(proof.seen),
            f"{proof.seconds:.1f}",
        )
    console.print(table)
    return all_good
