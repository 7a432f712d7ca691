"""Search for requests without an answer in virtual time.

Each seed is one simulated cluster with faults.
"""

import time
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from kafka_edu.cli.demo_frame import json_option
from kafka_edu.cli.report import Report
from kafka_edu.cli.soak.progress import Progress
from kafka_edu.common.python_process import command_line
from kafka_edu.sim.result_file import ResultFile, ResultFileError
from kafka_edu.sim.seed_search import SeedResult, play
from kafka_edu.sim.sim_cluster import silent_brokers

FIRST_SEED: Final = 1
FAILURES_SHOWN: Final = 20


def _result(fields: dict[str, Any]) -> SeedResult:
    """Return a result from the fields of a line of the state file. Lists become tuples, because
    JSON has no tuples.
    """
    return SeedResult(
        **{**fields, "failures": tuple(fields["failures"]), "acts": tuple(fields["acts"])}
    )


def replay_command(seed: int) -> str:
    """Return the command that runs one seed again and prints what happened."""
    return command_line(f"soak seeds --seed {seed}")


def show_failure(result: SeedResult, console: Console) -> None:
    console.print(
        f"[red]✕[/] seed {result.seed}: {len(result.failures)} failures; replay it with"
        f" {replay_command(result.seed)}",
        soft_wrap=True,
    )
    for failure in result.failures[:FAILURES_SHOWN]:
        console.print(f"    {failure}", soft_wrap=True, highlight=False, markup=False)


def report_of(results: list[SeedResult], seconds: float) -> Report:
    """Return the report with a summary of all seeds."""
    report = Report("soak seeds")
    failed = [result.seed for result in results if not result.holds]
    report.figure("seeds tried", len(results))
    report.figure("seeds that failed", failed)
    report.figure("requests sent", sum(result.requests for result in results))
    report.figure("requests answered", sum(result.answered for result in results))
    report.figure("requests whose connection closed", sum(result.closed for result in results))
    report.figure("records acked", sum(result.acked for result in results))
    report.figure(
        "longest wait, ms", max((result.longest_wait_ms for result in results), default=0)
    )
    report.figure("virtual hours", round(sum(result.virtual_s for result in results) / 3600, 2))
    report.figure("seconds of this run", round(seconds, 1))
    report.target("seeds that failed", len(failed), "==", 0)
    report.target("seeds tried", len(results), ">", 0)
    return report


def replay(seed: int, console: Console) -> SeedResult:
    """Run one seed again, and print what happened."""
    result = play(seed)
    for act in result.acts:
        console.print(act, soft_wrap=True, highlight=False, markup=False)
    console.print(
        f"seed {seed}: {result.requests:,} requests, {result.answered:,} answered,"
        f" {result.closed:,} closed, {result.acked:,} records acked, longest wait"
        f" {result.longest_wait_ms / 1000:.1f} s",
        soft_wrap=True,
    )
    return result


@click.command()
@click.option(
    "--seeds", type=click.IntRange(1), default=20, show_default=True, help="The number of seeds."
)
@click.option(
    "--first",
    type=click.IntRange(0),
    default=FIRST_SEED,
    show_default=True,
    help="The first seed; the others are the next numbers.",
)
@click.option(
    "--state",
    "state_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep each seed's result in this file; seeds in it are not run again.",
)
@click.option("--seed", type=int, help="Play only this seed again, and print its story.")
@json_option
def seeds(
    seeds: int, first: int, state_file: Path | None, seed: int | None, json_file: Path | None
) -> None:
    """Search for unanswered requests and lost records in virtual time. A seed takes a few seconds.

    Each seed is one simulation: a cluster of three brokers and 56 partitions, its clients, and a
    minute of slow disks, pauses, kills and level changes. Every request must be answered within its
    time-out + 1 s, or its connection must be closed. Every record of an idempotent producer must be
    acknowledged and read once, in order. Exits with 1 when a seed fails.
    """
    console = Console()
    if seed is not None:
        result = replay(seed, console)
        if not result.holds:
            show_failure(result, console)
            raise SystemExit(1)
        return
    state = ResultFile(state_file, _result) if state_file is not None else None
    try:
        done = {result.seed: result for result in state.load()} if state is not None else {}
    except ResultFileError as error:
        raise click.ClickException(str(error)) from error
    wanted = range(first, first + seeds)
    began = time.monotonic()
    with Progress(console) as progress, silent_brokers():  # `--seed` shows the brokers' logs
        try:
            for number in wanted:
                if number in done:
                    continue
                failed = sum(not result.holds for result in done.values())
                progress.show(f"seed {number}: {len(done)} tried, {failed} failed")
                result = play(number)
                if result.holds:
                    result = result._replace(acts=())  # a replay of the seed prints its acts again
                else:
                    show_failure(result, console)
                done[number] = result
                if state is not None:
                    state.add(result)
        except KeyboardInterrupt:
            again = (
                f"; repeat the command to continue with {state_file}"
                if state_file is not None
                else ""
            )
            click.echo(
                f"stopped after {sum(number in done for number in wanted)} of {seeds} seeds{again}",
                err=True,
            )
            raise SystemExit(130) from None
        except ResultFileError as error:
            raise click.ClickException(str(error)) from error
    report = report_of([done[number] for number in wanted], time.monotonic() - began)
    report.show(console)
    if json_file is not None:
        report.write(json_file)
    if not report.holds:
        raise SystemExit(1)
