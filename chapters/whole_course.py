"""The whole course as fast runs, from its first line to the certificate: `learn --prove FILE`.

Each chapter runs on a cluster of its own, and its page is checked against the run. Each exercise is
solved by its reference solution, with its live part. The last step is the capstone. The whole run
takes an hour or two. After each step FILE stores what has been proved. If the run is interrupted,
the same command continues from there.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import python_command, python_environment

from .course_step import Step

NAME: Final = "whole-course"
LAST_LINES: Final = 12


class Proof(NamedTuple):
    """The result of one step of the course."""

    name: str
    seconds: float
    holds: bool


def words_of(step: Step) -> list[str]:
    """Return the words of the command line that proves a step."""
    if step.kind == "chapter":
        return [*step.command.split(), "--fast"]
    return ["lab", "check", step.id, "--solutions", "--live"]


def capstone_words(folder: Path) -> list[str]:
    """Return the words of the capstone's command line. The certificate is written to `folder`."""
    return ["lab", "capstone", "--solutions", "--alone", "--seconds", "0", "--to", str(folder)]


def read_proofs(file: Path) -> list[Proof]:
    """Return the proofs that FILE contains; none if the file does not exist.

    Raises ValueError if it is a file of another kind.
    """
    if not file.exists():
        return []
    document = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(document, dict) or document.get("name") != NAME:
        raise ValueError(f"{file} is not the record of a run of the course: name another file")
    figures = document["figures"]
    return [
        Proof(target["name"], float(figures.get(target["name"], 0.0)), bool(target["holds"]))
        for target in document["targets"]
    ]


def report_of(proofs: Iterable[Proof]) -> Report:
    """Return the report on all proofs. Its figures are the seconds that each step took."""
    report = Report(NAME)
    for proof in proofs:
        report.figure(proof.name, round(proof.seconds, 1))
        report.target(proof.name, int(proof.holds), "==", 1)
    return report


def prove(steps: Sequence[Step], file: Path, console: Console) -> Report:
    """Run the steps that are not proved yet, and return the report.

    Raises ValueError if FILE is a file of another kind, and OSError if it cannot be written.
    """
    known = {proof.name: proof for proof in read_proofs(file) if proof.holds}
    with tempfile.TemporaryDirectory(prefix="kafka-edu-") as folder:
        for name, words in _all(steps, Path(folder)):
            if name not in known:
                known[name] = _run(name, words, console)
            report_of(known.values()).write(file)
    return report_of(known.values())


def _all(steps: Sequence[Step], folder: Path) -> Iterator[tuple[str, list[str]]]:
    for step in steps:
        yield step.id, words_of(step)
    yield "capstone", capstone_words(folder)


def _run(name: str, words: Sequence[str], console: Console) -> Proof:
    began = time.monotonic()
    with console.status(f"{name}: {' '.join(words)}"):
        done = subprocess.run(
            python_command("kafka_edu", *words),
            env=python_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    seconds = time.monotonic() - began
    holds = done.returncode == 0
    console.print(f"{'[green]✓[/]' if holds else '[red]✗[/]'} {name:<12} {seconds:6.1f} s")
    if not holds:
        last = (done.stdout + done.stderr).strip().splitlines()[-LAST_LINES:]
        console.print("\n".join(last), markup=False, highlight=False)
    return Proof(name, seconds, holds)
