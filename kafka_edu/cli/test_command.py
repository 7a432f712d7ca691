"""Run the test suite: the fast part, or with --full all of it.

The fast part needs only this installation and takes about five minutes on two cores. It runs in two
processes; `-n 0` runs it in one. `--full` adds the tests that take longer or need other programs:
clusters of real processes, faults, other clients and tools, the dashboard, Spark, and the wrong
answers to the exercises. If a test's program is missing, the test is skipped and says what to
install.
"""

from enum import StrEnum
from pathlib import Path
from typing import Final

import click

from kafka_edu.common.package_group import PackageGroupError, ensure_group
from kafka_edu.common.python_process import (
    checkout,
    python_command,
    python_environment,
    run_to_its_end,
)

#: Markers of the test suites that the fast part leaves out. pyproject.toml says what each one
#: needs.
SLOW_SUITES: Final = ("cluster", "faults", "interop", "tools", "tui", "spark", "labs")
#: Marker of tests that take minutes of processor time. They run only with `-m long`.
LONG: Final = "long"
#: pytest's options for the fast part: two tests at once (pytest-xdist).
TWO_AT_ONCE: Final = ("-n", "2")
#: Prefixes of pytest's options that need all tests in one process, or that set the number of
#: processes.
_IN_ONE_PROCESS: Final = ("-n", "--numprocesses", "--pdb", "--trace", "-s", "--capture=no")


class Part(StrEnum):
    FAST = "fast"
    SLOW = "slow"
    FULL = "full"


def pytest_arguments(root: Path, part: Part, extra: tuple[str, ...]) -> list[str]:
    """Return pytest's arguments for a part of the suite.

    A path in `extra` replaces the paths of the part. `-m MARKERS` in `extra` replaces its markers.
    """
    arguments = [f"--rootdir={root}", "-c", str(root / "pyproject.toml")]
    if any(
        (root / argument.partition("::")[0]).exists()
        for argument in extra
        if not argument.startswith("-")
    ):
        return [*arguments, *extra]
    slow = " or ".join(SLOW_SUITES)
    match part:
        case Part.FAST:
            arguments += ["-m", f"not ({slow} or {LONG})"]
            if not any(argument.startswith(_IN_ONE_PROCESS) for argument in extra):
                arguments += TWO_AT_ONCE
        case Part.SLOW:
            arguments += ["-m", f"({slow}) and not {LONG}"]
        case Part.FULL:
            arguments += ["-m", f"not {LONG}"]
    return [*arguments, *extra, str(root / "tests")]


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--full",
    "part",
    flag_value=Part.FULL,
    help="Also test clusters, faults, other projects' clients and tools, the dashboard and Spark.",
)
@click.option("--slow", "part", flag_value=Part.SLOW, help="Run only the tests that --full adds.")
@click.argument("pytest_options", nargs=-1, type=click.UNPROCESSED)
def test(part: Part | None, pytest_options: tuple[str, ...]) -> None:
    """Run the test suite. PYTEST_OPTIONS (-k, -x, a path …) are passed to pytest."""
    root = checkout()
    if root is None:
        raise click.ClickException(
            "the tests are in the checkout, not in this installation: clone the repository and run"
            " ./kafka-edu test"
        )
    try:
        ensure_group("test", "hypothesis")
    except PackageGroupError as error:
        raise click.ClickException(str(error)) from None
    command = python_command("pytest", *pytest_arguments(root, part or Part.FAST, pytest_options))
    raise SystemExit(run_to_its_end(command, cwd=root, env=python_environment()))
