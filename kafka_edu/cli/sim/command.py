"""Run a cluster in virtual time: play a scenario, search its seeds for failures, shrink one.

A scenario is a short file (docs/simulator.md). `sim run replication` plays one that comes with
kafka-edu.
"""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from kafka_edu.cli.demo_frame import json_option
from kafka_edu.cli.report import Report
from kafka_edu.cli.sim.compare_command import compare
from kafka_edu.cli.sim.digests_command import digests
from kafka_edu.cli.sim.learner_story import show_parts, why_not_the_same
from kafka_edu.cli.sim.playing import (
    Story,
    check_plant,
    play_and_tell,
    play_story,
    python_version,
    shrink_and_tell,
)
from kafka_edu.cli.sim.prove_command import prove
from kafka_edu.cli.sim.scenario_files import (
    SHIPPED,
    learner_option,
    load,
    seed_of,
    seed_option,
    with_learners,
)
from kafka_edu.cli.soak.progress import Progress
from kafka_edu.common.python_process import command_line
from kafka_edu.common.words import plural
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
from kafka_edu.sim.scenario.scenario_run import ScenarioResult

MOST_SHOWN: Final = 10

_plant_option: Final = click.option(
    "--plant",
    metavar="FAULT",
    default="",
    help="Plant a known bug for this run: `sim plants` lists them.",
)


def show_violations(console: Console, violations: Iterable[object]) -> None:
    found = list(violations)
    for violation in found[:MOST_SHOWN]:
        console.print(f"  ✕ {violation}", style="red", soft_wrap=True, highlight=False)
    if len(found) > MOST_SHOWN:
        console.print(f"  … and {len(found) - MOST_SHOWN} more")


def show_result(console: Console, scenario: Scenario, result: ScenarioResult) -> None:
    console.print(
        f"{scenario.name}, seed {result.seed}: {result.virtual_ms / 1_000:.1f} virtual seconds,"
        f" {result.facts:,} facts, {result.sent:,} records sent, {result.acked:,} acked,"
        f" {result.read:,} read, {result.committed:,} transactions committed",
        soft_wrap=True,
        highlight=False,
    )
    console.print(f"digest {result.digest}", soft_wrap=True, highlight=False)
    if result.late:
        console.print(
            f"Not checked: {plural(result.late, 'transaction')} that a late request has ended. It"
            " came on a connection that its producer had given up. Known to Kafka: KIP-890.",
            soft_wrap=True,
            highlight=False,
        )
    if result.forgotten:
        console.print(
            f"Not checked: {plural(result.forgotten, 'transaction')} whose coordinator was replaced"
            " before the beginning was committed. Known to Kafka: KIP-890.",
            soft_wrap=True,
            highlight=False,
        )
    if result.holds:
        console.print("✓ every rule holds", style="green")
    show_violations(console, result.violations)


@click.group()
def sim() -> None:
    """Play clusters in virtual time, from a seed."""


sim.add_command(compare)
sim.add_command(prove)
sim.add_command(digests)


@sim.command("list")
def list_scenarios() -> None:
    """List the scenarios that come with kafka-edu."""
    console = Console()
    for name in SHIPPED:
        console.print(f"[bold]{name}[/]  {' '.join(load(name).about)}", soft_wrap=True)


@sim.command("plants")
def list_plants() -> None:
    """List the bugs that can be planted, to see whether the checker finds them."""
    console = Console()
    for name, fault in PLANTED.items():
        console.print(
            f"[bold]{name}[/]  {fault.about} ({fault.source})", soft_wrap=True, highlight=False
        )


@sim.command()
@click.argument("file")
@seed_option
@learner_option
@click.option(
    "--steps",
    is_flag=True,
    help="With a learner's part: print each of its answers, with the line of code.",
)
@_plant_option
@json_option
def run(
    file: str,
    seed: int | None,
    learners: tuple[str, ...],
    steps: bool,
    plant: str,
    json_file: Path | None,
) -> None:
    """Play FILE once, print what happens, and check the run. Exits with 1 if a rule is broken.

    With a learner's part it is played twice, and must be the same run again.
    """
    scenario, console = with_learners(load(file), learners), Console()
    check_plant(plant)
    if steps and not scenario.learners:
        raise click.UsageError("--steps prints the answers of a learner's part: name one")
    seed = seed_of(scenario, seed)
    began = time.process_time()
    story = Story(steps=steps)
    result = play_story(scenario, seed, plant, story)
    cpu_s = time.process_time() - began
    for act in result.acts:
        console.print(f"> {act}", style="bold", soft_wrap=True, highlight=False)
    for line in story.lines:
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    show_result(console, scenario, result)
    good = _judge_parts(console, scenario, seed, plant, result, story)
    if json_file is not None:
        report = Report("sim run")
        for name, value in (
            ("scenario", scenario.name),
            ("seed", seed),
            ("digest", result.digest),
            ("facts", result.facts),
            ("virtual seconds", result.virtual_ms / 1_000),
            ("processor seconds", round(cpu_s, 2)),
            ("rules broken", rules_broken(result.violations)),
        ):
            report.figure(name, value)
        report.target("rules broken", len(rules_broken(result.violations)), "==", 0)
        report.write(json_file)
    if not (result.holds and good):
        raise SystemExit(1)


def _judge_parts(
    console: Console,
    scenario: Scenario,
    seed: int,
    plant: str,
    result: ScenarioResult,
    story: Story,
) -> bool:
    """Show what learners' parts did, and play the run a second time. Return True if no part has
    failed and both runs are the same.
    """
    if not scenario.learners:
        return True
    topics = ", ".join(topic.name for topic in scenario.topics)
    good = show_parts(console, scenario.learners, story.learners, topics)
    second = Story()
    if play_story(scenario, seed, plant, second).digest == result.digest:
        console.print("✓ played again: the same facts", style="green")
        return good
    why = why_not_the_same(story.learners, second.learners)
    console.print(f"✕ {why}", style="red", soft_wrap=True, highlight=False, markup=False)
    return False


@sim.command()
@click.argument("files", nargs=-1)
@click.option("--seeds", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("--first", type=click.IntRange(0), default=1, show_default=True)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True)
@click.option(
    "--state",
    "state_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep each result in this file. Seeds in it are not played again.",
)
@click.option("--until-found", is_flag=True, help="Stop at the first failure.")
@_plant_option
@json_option
def explore(
    files: tuple[str, ...],
    seeds: int,
    first: int,
    jobs: int,
    state_file: Path | None,
    until_found: bool,
    plant: str,
    json_file: Path | None,
) -> None:
    """Play many seeds of FILES, by default of every scenario that comes with kafka-edu.

    A seed of each scenario is played before the next seed of any. Exits with 1 if a rule is broken.
    """
    check_plant(plant)
    scenarios, console = [load(file) for file in files or SHIPPED], Console()
    state = ResultFile(state_file, tried_of, code_version()) if state_file is not None else None
    try:
        done = {(tried.what, tried.seed): tried for tried in state.load()} if state else {}
    except ResultFileError as error:
        raise click.ClickException(str(error)) from error
    whats = [(what_of(scenario, plant), scenario) for scenario in scenarios]
    wanted = {
        (what, seed): (scenario, seed)
        for seed in range(first, first + seeds)
        for what, scenario in whats
    }
    results = [done[key] for key in wanted if key in done]
    work = [run for key, run in wanted.items() if key not in done]
    began, played_s = time.monotonic(), 0.0
    with Progress(console) as progress:
        try:
            for tried in try_seeds(work, jobs, plant):
                results.append(tried)
                if state is not None:
                    state.add(tried)
                if not tried.holds:
                    _show_failure(console, tried, plant)
                failed = sum(not one.holds for one in results)
                played_s += tried.virtual_ms / 1_000
                speed = played_s / max(time.monotonic() - began, 1e-9)
                progress.show(
                    f"{len(results):,} of {len(wanted):,} played, {failed:,} failed,"
                    f" {speed:.1f} virtual seconds a second"
                )
                if until_found and failed:
                    break
        except KeyboardInterrupt:
            again = f"; the same command continues with {state_file}" if state_file else ""
            click.echo(f"stopped after {len(results)} of {len(wanted)}{again}", err=True)
            raise SystemExit(130) from None
        except ResultFileError as error:
            raise click.ClickException(str(error)) from error
    report = _explored(results, time.monotonic() - began, played_s, len(wanted), until_found)
    report.show(console)
    if json_file is not None:
        report.write(json_file)
    if not report.holds:
        raise SystemExit(1)


def _show_failure(console: Console, tried: Tried, plant: str) -> None:
    option = f" --plant {plant}" if plant else ""
    command = command_line(f"sim shrink {tried.scenario} --seed {tried.seed}{option}")
    console.print(
        f"[red]✕[/] {tried.scenario}, seed {tried.seed}; make it short with: {command}",
        soft_wrap=True,
    )
    show_violations(console, (f"{rule}: {text}" for rule, text in tried.violations))


def _explored(
    results: list[Tried], seconds: float, played_s: float, wanted: int, until_found: bool
) -> Report:
    """Return the report of a search. In `seconds` seconds, the search has played `played_s` virtual
    seconds. Results of earlier searches come from the state file.
    """
    report = Report("sim explore")
    failed = [f"{tried.scenario} {tried.seed}" for tried in results if not tried.holds]
    virtual_s = sum(tried.virtual_ms for tried in results) / 1_000
    cpu_s = sum(tried.cpu_s for tried in results)
    report.figure("runs", len(results))
    report.figure("runs that failed", failed)
    report.figure("virtual seconds", round(virtual_s))
    report.figure("processor seconds", round(cpu_s, 1))
    report.figure("seconds of this command", round(seconds, 1))
    report.figure("virtual seconds a processor second", round(virtual_s / max(cpu_s, 1e-9), 1))
    if played_s:
        report.figure("virtual seconds a second", round(played_s / max(seconds, 1e-9), 1))
    report.target("runs that failed", len(failed), "==", 0)
    if not until_found:
        report.target("runs", len(results), "==", wanted)
    return report


@sim.command()
@click.argument("file")
@seed_option
@_plant_option
@click.option("--rule", default="", help="The rule that must stay broken. Default: the first one.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the short scenario here. Without it, it is printed.",
)
def shrink(file: str, seed: int | None, plant: str, rule: str, output: Path | None) -> None:
    """Find the shortest run that still breaks a rule, and write it as a scenario file."""
    scenario, console = load(file), Console()
    check_plant(plant)
    if output is not None and not output.parent.is_dir():
        raise click.ClickException(f"cannot write {output}: there is no folder {output.parent}")
    seed = seed_of(scenario, seed)
    result, _ = play_and_tell(scenario, seed, plant)
    broken = rules_broken(result.violations)
    if rule and rule not in broken:
        raise click.ClickException(
            f"seed {seed} of {scenario.name} does not break {rule!r}; it breaks"
            f" {', '.join(broken) or 'no rule'}"
        )
    if not broken:
        raise click.ClickException(
            f"seed {seed} of {scenario.name} breaks no rule: there is nothing to shrink"
        )
    rule = rule or broken[0]
    with Progress(console) as progress:
        shrunk, text = shrink_and_tell(
            scenario,
            result,
            rule,
            plant,
            lambda number, acts: progress.show(f"run {number}: {acts} acts"),
        )
    if output is not None:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.ClickException(f"cannot write {output}: {error.strerror}") from error
    else:
        console.print(text, end="", soft_wrap=True, highlight=False, markup=False)
    console.print(
        f"{len(result.acts)} acts became {len(shrunk.scenario.acts)} in {shrunk.runs} runs;"
        f" {len(text.splitlines())} lines",
        soft_wrap=True,
        highlight=False,
    )


@sim.command()
@click.argument("file")
@_plant_option
def replay(file: str, plant: str) -> None:
    """Play a file that `sim shrink` wrote, and compare the run with the one that it describes.

    Exits with 1 if the facts are not the same, byte for byte.
    """
    scenario, console = load(file), Console()
    check_plant(plant)
    if scenario.seed is None:
        raise click.ClickException(
            f"{file} names no seed, so there is nothing to repeat: use `sim run`"
        )
    other_code = scenario.code not in ("", code_version())
    if other_code:
        console.print(
            f"{file} was written by another version of the code ({scenario.code}, and this is"
            f" {code_version()}), with which a seed may give another run",
            style="yellow",
            soft_wrap=True,
            highlight=False,
        )
    result, lines = play_and_tell(scenario, scenario.seed, plant)
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)
    show_result(console, scenario, result)
    expected = scenario.digest_for(python_version())
    if expected is None:
        console.print("the file has no digest: nothing to compare")
    elif expected == result.digest:
        console.print("✓ the same facts, byte for byte", style="green")
    else:
        why = (
            "another version of the code wrote it: search for a failing seed again, and shrink it"
            if other_code
            else "it was written with another planted fault, or without one"
        )
        console.print(
            f"✕ the facts differ from those of the file. Expected {expected}; {why}",
            style="red",
            soft_wrap=True,
        )
        raise SystemExit(1)
