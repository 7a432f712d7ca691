"""Common parts of demos that start their own cluster: options, report, exit code, waiting."""

import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

import click
from rich.console import Console

from kafka_edu.cli.demo_ending import ends_in_sentences
from kafka_edu.cli.report import Report

P = ParamSpec("P")
Option = TypeVar("Option", bound=Callable[..., object])
Work = Callable[Concatenate[Console, P], Report]

zookeeper_option: Final = click.option(
    "--zookeeper",
    default="embedded",
    show_default=True,
    metavar="WHICH",
    help="embedded, apache, or HOST:PORT/chroot.",
)
json_option: Final = click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the figures to this file.",
)


def rate_option(most: int, meaning: str = "Records a second.") -> Callable[[Option], Option]:
    """Return the option `--rate` of a command that sends records at a steady rate.

    `most` is the highest rate in records a second. `meaning` is the option's help text.
    """
    return click.option(
        "--rate", type=click.IntRange(1, most), default=500, show_default=True, help=meaning
    )


def demo_command(name: str, *, figures: bool = True) -> Callable[[Work[P]], click.Command]:
    """Turn the function `work(console, **options) -> Report` into the command of the demo `name`.

    The command has the options of `work` and --json FILE. It prints the report, writes it to FILE,
    and exits with 1 if a target does not hold. If `figures` is false, it prints only the targets,
    because the demo has already shown the figures itself. The report must have an ending, which is
    printed last. If a demo cannot continue, it prints the reason in three sentences: see
    `ends_in_sentences`.
    """

    def command_of(work: Work[P]) -> click.Command:
        @functools.wraps(work)
        def run(json_file: Path | None, *args: P.args, **kwargs: P.kwargs) -> None:
            console = Console()
            with ends_in_sentences(name):
                report = work(console, *args, **kwargs)
                if report.ending is None:
                    raise ValueError(f"the demo {name} has no ending: call Report.end")
                report.show(console, figures)
                if json_file is not None:
                    report.write(json_file)
            if not report.holds:
                raise SystemExit(1)

        command = click.command(name)(json_option(run))
        command.params.append(command.params.pop(0))  # --json is last in every help
        return command

    return command_of


def wait_until(moment: float) -> None:
    """Wait until time.monotonic() reaches `moment`. Return at once if that time has passed.

    A demo does each of its steps at a fixed time. The clients continue to work between the steps.
    """
    time.sleep(max(0.0, moment - time.monotonic()))
