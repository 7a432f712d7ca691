"""`kafka-edu sim prove`: plant each known bug, search for it with the general scenarios, and show
how soon the checker finds it.
"""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from kafka_edu.cli.demo_frame import json_option
from kafka_edu.cli.report import Report, number
from kafka_edu.cli.sim.playing import check_plant, play_and_tell, shrink_and_tell
from kafka_edu.cli.sim.scenario_files import SHIPPED, load
from kafka_edu.cli.soak.progress import Progress
from kafka_edu.sim.planted_faults import PLANTED
from kafka_edu.sim.result_file import ResultFile, ResultFileError
from kafka_edu.sim.scenario.explore import (
    Tried,
    code_version,
    rules_broken,
    tried_of,
    try_seeds,
    what_of,
)
from kafka_edu.sim.scenario.language import Scenario

MOST_LINES: Final = 40
"""The most lines that a shrunk run may have."""


class Shortened(NamedTuple):
    """The shortest run that shows one planted bug."""

    what: str
    """`Tried.what` of the run that was made short."""
    seed: int
    lines: int
    runs: int
    """How many runs it took."""
    text: str
    code: str


class Proof(NamedTuple):
    """How one planted bug was found, if it was."""

    plant: str
    runs: int
    virtual_s: float
    found: Tried | None
    short: Shortened | None = None

    @property
    def seeds(self) -> int:
        """Return how many seeds of each scenario were begun."""
        return -(-self.runs // len(SHIPPED))


def _kept_of(fields: dict[str, Any]) -> Tried | Shortened:
    """Return the content of a line of the state file: a run, or a shortened failing run."""
    return Shortened(**fields) if "text" in fields else tried_of(fields)


class Search:
    """Searches for planted bugs, and keeps each result in the state file if there is one."""

    def __init__(self, scenarios: list[Scenario], seeds: int, jobs: int, path: Path | None) -> None:
        """Raises ResultFileError."""
        self._scenarios = scenarios
        self._seeds = seeds
        self._jobs = jobs
        self._state = ResultFile(path, _kept_of, code_version()) if path is not None else None
        kept = self._state.load() if self._state is not None else []
        self._done = {(one.what, one.seed): one for one in kept if isinstance(one, Tried)}
        self._short = {(one.what, one.seed): one for one in kept if isinstance(one, Shortened)}

    def find(self, plant: str, progress: Progress) -> Proof:
        """Play a seed of each scenario, then the next seed of each, until a rule is broken.

        With several jobs, some later runs are played too. Of all runs that break a rule, the first
        one in the order of play counts, so the result does not depend on the number of jobs. Raises
        ResultFileError.
        """
        whats = [(what_of(scenario, plant), scenario) for scenario in self._scenarios]
        order = {
            (what, seed): (scenario, seed)
            for seed in range(1, self._seeds + 1)
            for what, scenario in whats
        }
        places = {key: place for place, key in enumerate(order)}
        results = {key: self._done[key] for key in order if key in self._done}
        last = min(
            (places[key] for key, tried in results.items() if not tried.holds),
            default=len(order) - 1,
        )

        def work() -> Iterator[tuple[Scenario, int]]:
            for place, (key, run) in enumerate(order.items()):
                if place > last:
                    return  # an earlier run has failed
                if key not in results:
                    yield run

        for tried in try_seeds(work(), self._jobs, plant):
            key = tried.what, tried.seed
            results[key] = tried
            if self._state is not None:
                self._state.add(tried)
            if not tried.holds:
                last = min(last, places[key])
            progress.show(f"{plant}: {len(results):,} of {len(order):,} runs")
        counted = [results[key] for key in islice(order, last + 1)]
        virtual_s = sum(tried.virtual_ms for tried in counted) / 1_000
        found = counted[-1] if not counted[-1].holds else None
        return Proof(plant, len(counted), virtual_s, found)

    def shorten(self, proof: Proof, progress: Progress) -> Proof:
        """Make the run that was found short. Raises ResultFileError."""
        tried = proof.found
        if tried is None:
            return proof
        short = self._short.get((tried.what, tried.seed))
        if short is None:
            scenario = next(one for one in self._scenarios if one.name == tried.scenario)
            result, _ = play_and_tell(scenario, tried.seed, proof.plant)
            rule = rules_broken(result.violations)[0]
            shrunk, text = shrink_and_tell(
                scenario,
                result,
                rule,
                proof.plant,
                lambda run, acts: progress.show(f"{proof.plant}: shorter, run {run}, {acts} acts"),
            )
            lines = len(text.splitlines())
            short = Shortened(tried.what, tried.seed, lines, shrunk.runs, text, code_version())
            if self._state is not None:
                self._state.add(short)
        return proof._replace(short=short)


@click.command()
@click.argument("plants", nargs=-1)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=2_000,
    show_default=True,
    help="The most seeds of each scenario for one bug.",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True)
@click.option(
    "--state",
    "state_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep each result in this file. Runs in it are not played again.",
)
@click.option(
    "--shrink/--no-shrink",
    "shrinks",
    default=True,
    show_default=True,
    help="Make each run that was found short. That takes up to 200 runs.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write each shrunk run here, as a scenario file.",
)
@json_option
def prove(
    plants: tuple[str, ...],
    seeds: int,
    jobs: int,
    state_file: Path | None,
    shrinks: bool,
    folder: Path | None,
    json_file: Path | None,
) -> None:
    """Show that the checker finds known bugs: plant each of PLANTS, by default all of them.

    Each bug is searched for with the scenarios that come with kafka-edu, one seed of each after the
    other. The search for a bug ends at the first find, which is then made short. Exits with 1 if a
    bug is not found.
    """
    for plant in plants:
        check_plant(plant)
    console = Console()
    began = time.monotonic()
    proofs: list[Proof] = []
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        search = Search([load(name) for name in SHIPPED], seeds, jobs, state_file)
        with Progress(console) as progress:
            for plant in plants or tuple(PLANTED):
                proof = search.find(plant, progress)
                if shrinks:
                    proof = search.shorten(proof, progress)
                proofs.append(proof)
                console.print(_line_of(proof), soft_wrap=True, highlight=False)
                if folder is not None and proof.short is not None:
                    (folder / f"{plant}.sim").write_text(proof.short.text, encoding="utf-8")
    except ResultFileError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"cannot write to {folder}: {error.strerror}") from error
    except KeyboardInterrupt:
        again = f"; the same command continues with {state_file}" if state_file else ""
        click.echo(f"stopped after {len(proofs)} bugs{again}", err=True)
        raise SystemExit(130) from None
    console.print(_table(proofs))
    report = _report(proofs, time.monotonic() - began, shrinks)
    report.show(console, figures=False)
    if json_file is not None:
        report.write(json_file)
    if not report.holds:
        raise SystemExit(1)


def _line_of(proof: Proof) -> str:
    if proof.found is None:
        return f"[red]✕[/] {proof.plant}: not found in {proof.runs:,} runs"
    return (
        f"[green]✓[/] {proof.plant}: found by {proof.found.scenario}, seed {proof.found.seed}, run"
        f" {proof.runs:,}"
    )


def _table(proofs: list[Proof]) -> Table:
    table = Table("bug", title="sim prove", title_justify="left")
    for heading in ("seeds", "runs", "virtual s"):
        table.add_column(heading, justify="right")
    table.add_column("found by")
    table.add_column("rule")
    table.add_column("lines", justify="right")
    for proof in proofs:
        table.add_row(
            proof.plant,
            number(proof.seeds),
            number(proof.runs),
            number(round(proof.virtual_s)),
            "-" if proof.found is None else proof.found.scenario,
            "-" if proof.found is None else proof.found.violations[0][0],
            "-" if proof.short is None else number(proof.short.lines),
        )
    return table


def _report(proofs: list[Proof], seconds: float, shrinks: bool) -> Report:
    report = Report("sim prove")
    for proof in proofs:
        tried, short = proof.found, proof.short
        report.figure(
            proof.plant,
            {
                "seeds": proof.seeds,
                "runs": proof.runs,
                "virtual seconds": round(proof.virtual_s, 1),
                "scenario": None if tried is None else tried.scenario,
                "seed": None if tried is None else tried.seed,
                "rules": [] if tried is None else rules_broken(tried.violations),
                "lines": None if short is None else short.lines,
            },
        )
    report.figure("seconds of this command", round(seconds, 1))
    found = [proof for proof in proofs if proof.found is not None]
    report.target("bugs found", len(found), "==", len(proofs))
    if shrinks:
        lines = [proof.short.lines for proof in found if proof.short is not None]
        report.target("most lines of a shrunk run", max(lines, default=None), "<=", MOST_LINES)
    return report
