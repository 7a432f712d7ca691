"""Run the test suite: the fast part, or with --full all of it.

The fast part needs nothing but this installation and ends in five minutes on two cores. `--full`
adds what takes longer or needs other programs: clusters of real processes, faults, foreign clients,
dashboard, exercises. A test whose program is missing is skipped and says what to install.
"""

from enum import StrEnum
from pathlib import Path
from typing import Final

import click

from kafka_edu.common.python_process import (
    checkout,
    python_command,
    python_environment,
    run_to_its_end,
)

#: Folders of tests/ that the fast part leaves out.
SLOW_FOLDERS: Final = ("cluster", "faults", "interop", "tui", "exercises", "chapters", "spark")


class Part(StrEnum):
    FAST = "fast"
    SLOW = "slow"
    FULL = "full"


def pytest_arguments(root: Path, part: Part, extra: tuple[str, ...]) -> list[str]:
    """The arguments of pytest for a part of the suite; a path in `extra` takes the place of the
    part.
    """
    arguments = [f"--rootdir={root}", "-c", str(root / "pyproject.toml"), *extra]
    if any(
        (root / argument.partition("::")[0]).exists()
        for argument in extra
        if not argument.startswith("-")
    ):
        return arguments
    tests = root / "tests"
    slow = [str(tests / folder) for folder in SLOW_FOLDERS]
    match part:
        case Part.FAST:
            return [*arguments, *(f"--ignore={folder}" for folder in slow), str(tests)]
        case Part.SLOW:
            return [*arguments, *(folder for folder in slow if Path(folder).is_dir())]
        case Part.FULL:
            return [*arguments, str(tests)]


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--full",
    "part",
    flag_value=Part.FULL,
    help="Also clusters, faults, foreign clients, dashboard and exercises.",
)
@click.option("--slow", "part", flag_value=Part.SLOW, help="Only what --full adds.")
@click.argument("pytest_options", nargs=-1, type=click.UNPROCESSED)
def test(part: Part | None, pytest_options: tuple[str, ...]) -> None:
    """Run the test suite; PYTEST_OPTIONS (-k, -x, a path …) go to pytest."""
    root = checkout()
    if root is None:
        raise click.ClickException(
            "the tests are in the checkout, not in this installation: clone the repository and run"
            " ./kafka-edu test"
        )
    command = python_command("pytest", *pytest_arguments(root, part or Part.FAST, pytest_options))
    raise SystemExit(run_to_its_end(command, cwd=root, env=python_environment()))
