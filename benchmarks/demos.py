"""`kafka-edu bench demos`: run demos again and again on a machine that hogs keep busy.

A demo must work on any machine. So each run must end with its sentences, without a traceback, and
with the exit code 0, and all its targets must hold. The hogs are processes that only use processor
time. `--hogs` gives their number for each core. DEMO arguments choose the demos. Without them, all
demos run.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.cli.command_table import DEMOS, read_group
from kafka_edu.cli.report import HEADINGS, Report
from kafka_edu.common.busy_machine import Hogs
from kafka_edu.common.python_process import command_line, python_command, python_environment

from .options import add_repeats

NAME = "demos"
HELP = (
    "run each demo on a busy machine: does it end with its three sentences, and do its targets"
    " hold? (an hour)"
)

TRACEBACK: Final = "Traceback (most recent call last)"
LAST_WORDS: Final = 25
"""Number of lines that are shown from a run that failed."""


class Run(NamedTuple):
    """The result of one run of a demo."""

    demo: str
    code: int
    seconds: float
    in_sentences: bool
    """Whether the output says at its end what happened and why, and has no traceback."""
    missed: tuple[str, ...]
    """The names of the targets that do not hold."""
    happened: str
    """The sentence that says what happened. If there is none, the last line of the output."""
    last_words: tuple[str, ...] = ()
    """The last lines of the output."""

    @property
    def right(self) -> bool:
        return self.in_sentences and self.code == 0 and not self.missed


def run_of(demo: str, code: int, seconds: float, said: str, figures: str) -> Run:
    """Return the result of a run from its exit code, its duration and its output `said`.

    `figures` is the JSON text of the demo's report, or "" if there is none.
    """
    lines = [line for line in said.splitlines() if line.strip()] or [""]
    headed = [line for line in lines if line.startswith(f"{HEADINGS[0]}: ")]
    why = any(line.startswith(f"{HEADINGS[1]}: ") for line in lines)
    targets = json.loads(figures)["targets"] if figures else []
    return Run(
        demo,
        code,
        seconds,
        bool(headed) and why and TRACEBACK not in said,
        tuple(target["name"] for target in targets if not target["holds"]),
        headed[-1].partition(": ")[2] if headed else lines[-1],
        tuple(lines[-LAST_WORDS:]),
    )


def play(demo: str) -> Run:
    """Run a demo to its end, and return the result."""
    with tempfile.TemporaryDirectory(prefix="kafka-edu-bench-demos-") as folder:
        file = Path(folder) / "figures.json"
        began = time.monotonic()
        done = subprocess.run(
            python_command("kafka_edu", "demo", demo, "--json", str(file)),
            env=python_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        figures = file.read_text(encoding="utf-8") if file.exists() else ""
        return run_of(demo, done.returncode, time.monotonic() - began, done.stdout, figures)


def report_of(runs: list[Run]) -> Report:
    report = Report(NAME)
    for demo in dict.fromkeys(run.demo for run in runs):
        mine = [run for run in runs if run.demo == demo]
        report.figure(f"{demo}: runs", len(mine))
        report.figure(f"{demo}: s, median", statistics.median(run.seconds for run in mine))
        report.figure(f"{demo}: what happened", [run.happened for run in mine])
        for name, count in (
            (
                "runs that do not end with their sentences",
                sum(not run.in_sentences for run in mine),
            ),
            ("runs that did not show what they should", sum(not run.right for run in mine)),
        ):
            report.target(f"{demo}: {name}", count, "==", 0)
    return report


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed."""
    known = [name for name, entry in read_group(DEMOS).items() if entry.found()]
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument(
        "demos", nargs="*", metavar="DEMO", help="which demos to run (default: all)"
    )
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument(
        "--hogs", type=int, default=4, metavar="N", help="busy processes for each core (default 4)"
    )
    add_repeats(parser, 3, "runs of each demo")
    args = parser.parse_args(argv)
    if unknown := [demo for demo in args.demos if demo not in known]:
        parser.error(f"there is no demo {', '.join(unknown)}; there are: {', '.join(known)}")
    runs: list[Run] = []
    with Hogs(args.hogs * (os.cpu_count() or 1)):
        for demo in args.demos or known:
            for number in range(1, args.repeats + 1):
                run = play(demo)
                runs.append(run)
                sign = "●" if run.right else "✕"
                print(
                    f"{sign} {demo} {number}: {run.seconds:.0f} s, code {run.code}: {run.happened}",
                    *(f"    does not hold: {name}" for name in run.missed),
                    *(f"    {line}" for line in run.last_words if not run.right),
                    sep="\n",
                    flush=True,
                )
                if args.json:
                    report_of(runs).write(args.json)
    report_of(runs).show(figures=False)
    return 0
