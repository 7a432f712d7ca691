"""Show the results of a check on the terminal."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kafka_edu.common.python_process import command_line

from .runner.check import Verdict, source_lines
from .runner.public_tests import Outcome
from .runner.verdict import Step

PRINTED_LINES: Final = 12
"""The maximum number of lines, printed by the learner's code, that are shown for a test."""


def show_public(console: Console, verdict: Verdict, options: str = "") -> None:
    """Show every public test: the first failed test in full, and each of the other tests in one
    line.

    `options` are additional words for the shown command that runs a test again.
    """
    if verdict.objection:
        console.print(verdict.objection, highlight=False, markup=False)
        return
    console.print(f"[bold]public tests[/], seed {verdict.seed}", highlight=False)
    first = first_failure(verdict)
    same = 0
    for outcome in verdict.public:
        if first is not None and outcome is not first and is_same_error(first, outcome):
            same += 1
            continue
        show_row(console, outcome.says, outcome.passed)
        if outcome is first:
            show_failure(console, verdict, outcome, options)
            continue
        if not outcome.passed:
            show_indented(console, in_short(outcome))
        show_prints(console, outcome)
    if same:
        show_row(console, f"{same} more test{'s' if same > 1 else ''}, by the same error", False)
    if first is not None and verdict.public[-1].timed_out:
        console.print(
            "The check stops here, because code that does not come back once would keep every other"
            " test waiting too.",
            highlight=False,
        )


def first_failure(verdict: Verdict) -> Outcome | None:
    """Return the first public test that failed, or None."""
    return next((outcome for outcome in verdict.public if not outcome.passed), None)


def is_same_error(one: Outcome, other: Outcome) -> bool:
    """Return whether two tests failed by the same exception in the same line."""
    return not other.passed and not one.expected and (one.why, one.line) == (other.why, other.line)


def in_short(outcome: Outcome) -> str:
    """Return in one line why a test failed."""
    if outcome.expected:
        return f"{outcome.asked}: expected {outcome.expected}, came {outcome.came}"
    return outcome.message.partition("\n")[0]


def show_failure(console: Console, verdict: Verdict, outcome: Outcome, options: str = "") -> None:
    """Show everything about a failed test.

    Show the expected and the actual answer, a picture, the line of the learner's code, and the
    command that runs this test again.
    """
    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True, style="dim")
    rows.add_column()

    def row(name: str, text: str) -> None:
        if text:
            rows.add_row(name, Text(text))

    row("asked", outcome.asked)
    row("expected", outcome.expected)
    row("came", outcome.came)
    row("because" if outcome.expected else "error", outcome.why or outcome.message)
    console.print(Padding(rows, (0, 0, 0, 3), expand=False), highlight=False)
    for line in outcome.drawing:
        console.print(f"     {line}", highlight=False, markup=False, no_wrap=True, crop=False)
    if outcome.line:
        console.print(f"   [dim]your code[/]  {Path(verdict.file).name}, line {outcome.line}")
        for line in source_lines(Path(verdict.file), outcome.line):
            console.print(f"   {line}", highlight=False, markup=False)
    if outcome.read:
        show_indented(console, f"look at: {outcome.read}")
    show_prints(console, outcome)
    test = shlex.quote(outcome.test)
    again = f"lab check {verdict.exercise}{options} --seed {verdict.seed} --only {test}"
    shown = Text(f"   this test again: {command_line(again)}", style="dim")
    console.print(shown, highlight=False, soft_wrap=True)  # a command is copied in one piece


def show_prints(console: Console, outcome: Outcome) -> None:
    """Show what the learner's code printed during a test."""
    lines = outcome.prints.splitlines()
    for line in lines[:PRINTED_LINES]:
        console.print(f"   printed │ {line}", highlight=False, markup=False, style="cyan")
    if len(lines) > PRINTED_LINES:
        show_indented(console, f"printed │ … {len(lines) - PRINTED_LINES} lines more")


def show_row(console: Console, says: str, passed: bool) -> None:
    sign = (" ✓ ", "green") if passed else (" ✗ ", "red")
    console.print(Text.assemble(sign, says))


def show_indented(console: Console, text: str) -> None:
    console.print(Padding(Text(text, style="dim"), (0, 0, 0, 3), expand=False), highlight=False)


def show_steps(console: Console, steps: Iterable[Step]) -> None:
    """Show each step of the live part: its name, whether it passed, and what was seen."""
    for step in steps:
        show_row(console, step.says, step.passed)
        if step.seen:
            seen = Text(step.seen, style="dim" if step.passed else "")
            console.print(Padding(seen, (0, 0, 0, 3), expand=False), highlight=False)


def show_verdict(console: Console, verdict: Verdict, cluster: str, live: bool) -> None:
    """Show the result of the whole check, and what the learner can do next. `cluster` is the kind
    of cluster of the live part.
    """
    if verdict.passed:
        how = f": it has worked with a {cluster}" if verdict.has_live else ""
        console.print(f"\n[bold green]{verdict.exercise} passed[/]{how}.", highlight=False)
    elif verdict.public_passed and not live:
        console.print(
            f"\nThe public tests pass. Without --no-live it goes on to the {cluster}, and counts"
            " only then."
        )
    elif not verdict.objection:
        console.print(
            f"\n[bold]{verdict.exercise} not passed yet.[/] A hint:"
            f" {command_line(f'lab hint {verdict.exercise}')}",
            highlight=False,
        )
