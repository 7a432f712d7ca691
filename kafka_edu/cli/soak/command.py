"""Test a real cluster for an hour, kill and pause brokers, and report unanswered requests.

The soak can be stopped and resumed. `soak --minutes N` runs real processes and unmodified clients.
`soak seeds` simulates the same faults in virtual time.
"""

import signal
import time
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from kafka_edu.cli.cluster_command import parse_setting
from kafka_edu.cli.demo_frame import json_option, rate_option
from kafka_edu.cli.soak.progress import Progress
from kafka_edu.cli.soak.seeds_command import seeds
from kafka_edu.cli.soak.soak_report import report_of, show
from kafka_edu.cli.soak.soak_run import Plan, soak_part
from kafka_edu.cli.soak.state import SoakState, SoakStateError
from kafka_edu.clients.answer_deadlines import GRACE_MS
from kafka_edu.supervisor.cluster import ClusterError

_SAVE_EVERY_S: Final = 5.0
LEAST_PART_S: Final = 1.0


def _state_of(state_file: Path | None, resume: bool) -> SoakState:
    """Return the results so far if the soak is resumed, otherwise an empty state.

    Raises click.ClickException if the state file cannot be used.
    """
    if resume and state_file is None:
        raise click.UsageError("--resume needs --state FILE, which says what was done before")
    if state_file is None or not state_file.exists():
        return SoakState()
    if not resume:
        raise click.ClickException(
            f"{state_file} holds a soak already; add --resume to continue it, or name another file"
        )
    return SoakState.load(state_file)


def run(
    minutes: float, plan: Plan, state: SoakState, state_file: Path | None, console: Console
) -> bool:
    """Run another part, for the remaining time of `minutes`. Return False if Ctrl-C ended it."""
    left_s = minutes * 60 - state.seconds
    if left_s < LEAST_PART_S:
        return True
    before_s = state.seconds
    with Progress(console) as progress:
        progress.show("starting ZooKeeper and three brokers")
        with soak_part(plan, len(state.parts)) as work:
            state.parts.append(work.part)
            saved_at = 0.0

            def tick(doing: str) -> None:
                nonlocal saved_at
                progress.show(
                    f"{(before_s + work.part.seconds) / 60:.1f} of {minutes:g} min · {work.now} ·"
                    f" {doing}"
                )
                if state_file is not None and time.monotonic() > saved_at + _SAVE_EVERY_S:
                    saved_at = time.monotonic()
                    state.save(state_file)

            try:
                work.run(left_s, tick)
            except KeyboardInterrupt:
                signal.signal(
                    signal.SIGINT, signal.SIG_IGN
                )  # the rest takes seconds, and must leave no processes behind
                return False
            finally:
                if state_file is not None:
                    state.save(state_file)
    return True


@click.group(invoke_without_command=True)
@click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="The length of all parts together.",
)
@click.option(
    "--state",
    "state_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the results in this file, to continue later.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Continue the soak in --state FILE until it has lasted --minutes.",
)
@rate_option(100_000)
@click.option(
    "--act-every",
    type=click.FloatRange(0),
    default=20.0,
    show_default=True,
    metavar="SECONDS",
    help="The pause between two acts.",
)
@click.option(
    "--disk-writers",
    type=click.IntRange(0, 16),
    default=2,
    show_default=True,
    help="Processes that keep the disk busy (256 MB each).",
)
@click.option(
    "--cpu-hogs",
    type=click.IntRange(0, 64),
    default=0,
    show_default=True,
    help="Processes that keep the processor busy.",
)
@click.option(
    "--seed", type=int, default=7, show_default=True, help="The seed of the probe requests."
)
@click.option(
    "--grace",
    type=click.FloatRange(0),
    default=GRACE_MS / 1000,
    show_default=True,
    metavar="SECONDS",
    help="How much later than its time-out the answer to a probe may come.",
)
@click.option(
    "--prop",
    "props",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of every broker; may be repeated.",
)
@json_option
@click.pass_context
def soak(
    context: click.Context,
    minutes: float,
    state_file: Path | None,
    resume: bool,
    rate: int,
    act_every: float,
    disk_writers: int,
    cpu_hogs: int,
    seed: int,
    grace: float,
    props: tuple[str, ...],
    json_file: Path | None,
) -> None:
    """Test a cluster for an hour, kill and pause brokers, and report requests without an answer.

    The test consists of three brokers with 56 partitions, a librdkafka producer and consumer, a
    prober that speaks the protocol itself, three trace subscribers, and a busy disk. Ctrl-C ends
    it. If it was started with --state FILE, --resume continues it later. Exits with 1 if a target
    does not hold.
    """
    if context.invoked_subcommand is not None:
        return
    console = Console()
    try:
        state = _state_of(state_file, resume)
        plan = Plan(
            rate, act_every, disk_writers, cpu_hogs, seed, grace, dict(map(parse_setting, props))
        )
        finished = run(minutes, plan, state, state_file, console)
    except (ClusterError, SoakStateError) as error:
        raise click.ClickException(str(error)) from error
    if not finished:
        again = f"; continue with --state {state_file} --resume" if state_file is not None else ""
        click.echo(
            f"stopped after {state.seconds / 60:.1f} of {minutes:g} minutes{again}", err=True
        )
        raise SystemExit(130)
    report = report_of(state)
    show(report, state, console)
    if json_file is not None:
        report.write(json_file)
    if not report.holds:
        raise SystemExit(1)


soak.add_command(seeds)
