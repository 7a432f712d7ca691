"""The command `kafka-edu lab watch`: check the learner's file again whenever it is saved."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from rich.console import Console

from kafka_edu.common.python_process import command_line

from .runner.check import Verdict
from .show import first_failure, show_failure, show_prints, show_row

POLL_S: Final = 0.2


def saves(file: Path, pause: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Yield once at the beginning, and again each time the file has changed. The generator never
    ends.

    Some editors save by removing the file and writing it again. While the file is missing, nothing
    is yielded.
    """
    seen: tuple[int, int] | None = None
    while True:
        try:
            status = file.stat()
        except OSError:
            pause(POLL_S)
            continue
        now = status.st_mtime_ns, status.st_size
        if now != seen:
            seen = now
            yield
        else:
            pause(POLL_S)


def show_round(console: Console, verdict: Verdict, options: str = "") -> None:
    """Show one check of a watched file: the tests up to the first failed test, and the failed test
    in full.
    """
    console.rule(f"[dim]{time.strftime('%H:%M:%S')}[/]", style="dim")
    if verdict.objection:
        console.print(verdict.objection, highlight=False, markup=False)
        return
    first = first_failure(verdict)
    for outcome in verdict.public:
        show_row(console, outcome.says, outcome.passed)
        if outcome is first:
            show_failure(console, verdict, outcome, options)
            break
        show_prints(console, outcome)
    passed = sum(outcome.passed for outcome in verdict.public)
    if first is None:
        live = command_line(f"lab check {verdict.exercise}{options}")
        then = f" Now the live part: {live}" if verdict.has_live else ""
        console.print(f"[green]All {passed} tests pass.[/]{then}", highlight=False)
    else:
        console.print(f"{passed} of {len(verdict.public)} tests pass.", highlight=False)
