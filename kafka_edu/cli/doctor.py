"""Check this machine: Python, Java, ports, memory, disk and more. Each line says what to do."""

import locale
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from kafka_edu.common.java import NoJavaError, find_any_java
from kafka_edu.common.package_group import how_to_install
from kafka_edu.common.ports import BROKER_PORT, ZOOKEEPER_PORT
from kafka_edu.common.python_process import command_line
from kafka_edu.common.user_files import state_folder
from kafka_edu.instruments.json_file import write_json

#: Memory in MB that three brokers, their ZooKeeper and two clients need, with some reserve.
NEEDED_MEMORY_MB: Final = 600
NEEDED_DISK_MB: Final = 1024
#: A recommended number of open files for each process. Each partition replica keeps three files
#: open, so this is enough for 1,000 partitions on each broker and for its connections.
GOOD_FILE_HANDLES: Final = 4096
LEAST_FILE_HANDLES: Final = 256
#: The ports of the cluster `default`: those of ZooKeeper and of three brokers.
USUAL_PORTS: Final = (ZOOKEEPER_PORT, *range(BROKER_PORT, BROKER_PORT + 3))


class Verdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    """The machine works, but something is slower, or something optional is missing."""
    BAD = "bad"


class Finding(NamedTuple):
    """The result of one check. The doctor prints it as one line."""

    what: str
    verdict: Verdict
    seen: str
    advice: str = ""


def check_python() -> Iterator[Finding]:
    seen = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    if platform.python_implementation() != "CPython":
        yield Finding("Python", Verdict.NOTE, seen, "tested only on CPython")
    else:
        yield Finding("Python", Verdict.OK, seen)


def check_platform() -> Iterator[Finding]:
    lacking = [
        name
        for name, there in (
            ("sendfile (fetches copy instead)", hasattr(os, "sendfile")),
            ("/proc (memory is not shown)", Path("/proc/self/status").exists()),
        )
        if not there
    ]
    seen = f"{platform.system()} {platform.release()}, {os.cpu_count()} cores"
    if lacking:
        yield Finding("System", Verdict.NOTE, seen, f"lacks {', '.join(lacking)}")
    else:
        yield Finding("System", Verdict.OK, seen)


def check_java() -> Iterator[Finding]:
    try:
        program = str(find_any_java())
    except NoJavaError:
        yield Finding(
            "Java",
            Verdict.NOTE,
            "none",
            "only Spark and --zookeeper apache need Java; they download it at their first use",
        )
        return
    try:
        answer = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding(
            "Java",
            Verdict.NOTE,
            program,
            f"does not run: {error}; only Spark and --zookeeper apache need Java",
        )
        return
    first = (answer.stderr or answer.stdout).partition("\n")[0]
    digits = first.partition('"')[2].partition(".")[0]
    if digits.isdigit() and int(digits) < 17:
        yield Finding(
            "Java",
            Verdict.NOTE,
            f"{first}, {program}",
            "Spark needs Java 17 or newer; set JAVA_HOME to one",
        )
    else:
        yield Finding("Java", Verdict.OK, f"{first}, {program}")


def check_group(group: str, module: str, purpose: str, names: str) -> Iterator[Finding]:
    if find_spec(module) is not None:
        yield Finding(names, Verdict.OK, "installed")
    else:
        yield Finding(
            names,
            Verdict.NOTE,
            "not installed",
            f"fetched at the first use ({purpose}), or now by {how_to_install(group)}",
        )


def check_ports() -> Iterator[Finding]:
    taken = []
    for port in USUAL_PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                taken.append(str(port))
    if taken:
        yield Finding(
            "Ports",
            Verdict.NOTE,
            f"taken: {', '.join(taken)}",
            f"a new cluster chooses free ports; `{command_line('cluster status')}` shows which",
        )
    else:
        yield Finding("Ports", Verdict.OK, f"{', '.join(map(str, USUAL_PORTS))} are free")


def check_loopback() -> Iterator[Finding]:
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), timeout=5),
        ):
            yield Finding("Loopback", Verdict.OK, "127.0.0.1 connects")
    except OSError as error:
        yield Finding(
            "Loopback",
            Verdict.BAD,
            f"127.0.0.1 does not connect: {error}",
            "bring the interface lo up, or let the firewall pass loopback",
        )


def available_memory_mb() -> int | None:
    """Return the memory in MB that is available without swapping, or None if it is unknown."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1024
    return None


def check_memory() -> Iterator[Finding]:
    available = available_memory_mb()
    if available is None:
        yield Finding(
            "Memory",
            Verdict.NOTE,
            "this system does not report how much is free",
            f"three brokers need about {NEEDED_MEMORY_MB} MB",
        )
    elif available < NEEDED_MEMORY_MB:
        yield Finding(
            "Memory",
            Verdict.NOTE,
            f"{available} MB free",
            f"three brokers need about {NEEDED_MEMORY_MB} MB;"
            f" `{command_line('cluster up --brokers 1')}` needs a third of it",
        )
    else:
        yield Finding("Memory", Verdict.OK, f"{available} MB free")


def check_disk(home: Path) -> Iterator[Finding]:
    try:
        home.mkdir(parents=True, exist_ok=True)
        free_mb = shutil.disk_usage(home).free // 2**20
        with tempfile.NamedTemporaryFile(dir=home, prefix="Doctor-") as probe:
            folds = Path(probe.name).with_name(Path(probe.name).name.swapcase()).exists()
    except OSError as error:
        yield Finding(
            "Disk",
            Verdict.BAD,
            f"cannot write in {home}: {error.strerror}",
            "set KAFKA_EDU_HOME to a folder that you may write to",
        )
        return
    if free_mb < NEEDED_DISK_MB:
        yield Finding(
            "Disk",
            Verdict.NOTE,
            f"{free_mb} MB free in {home}",
            "free some space, or set KAFKA_EDU_HOME to another disk",
        )
    else:
        yield Finding("Disk", Verdict.OK, f"{free_mb} MB free in {home}")
    if folds:
        yield Finding(
            "File names",
            Verdict.NOTE,
            "upper and lower case are the same here",
            "topics whose names differ only in case collide; set KAFKA_EDU_HOME to another disk",
        )
    else:
        yield Finding("File names", Verdict.OK, "upper and lower case differ")


def check_file_handles() -> Iterator[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    shown = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    seen = f"{soft} per process; you may raise it to {shown}"
    if soft < LEAST_FILE_HANDLES:
        yield Finding(
            "File handles",
            Verdict.BAD,
            seen,
            f"a broker needs at least {LEAST_FILE_HANDLES}: run ulimit -n {GOOD_FILE_HANDLES}",
        )
    elif soft < GOOD_FILE_HANDLES:
        yield Finding(
            "File handles",
            Verdict.NOTE,
            seen,
            f"enough for a few hundred partitions; for more, run ulimit -n {GOOD_FILE_HANDLES}",
        )
    else:
        yield Finding("File handles", Verdict.OK, seen)


def check_locale() -> Iterator[Finding]:
    encoding = locale.getpreferredencoding(False)
    if encoding.lower().replace("-", "") == "utf8":
        yield Finding("Locale", Verdict.OK, encoding)
    else:
        yield Finding(
            "Locale",
            Verdict.NOTE,
            encoding,
            "the dashboard draws with Unicode: run export LANG=C.UTF-8",
        )


def check_terminal() -> Iterator[Finding]:
    if not sys.stdout.isatty():
        yield Finding("Terminal", Verdict.OK, "none: plain output")
        return
    columns, rows = shutil.get_terminal_size()
    if columns < 80 or rows < 24:
        yield Finding(
            "Terminal", Verdict.NOTE, f"{columns} × {rows}", "the dashboard needs at least 80 × 24"
        )
    else:
        yield Finding("Terminal", Verdict.OK, f"{columns} × {rows}")


CHECKS: Final[tuple[Callable[[], Iterator[Finding]], ...]] = (
    check_python,
    check_platform,
    check_java,
    lambda: check_group("spark", "pyspark", command_line("spark"), "Spark"),
    lambda: check_group("apache-zookeeper", "pyspark", "--zookeeper apache", "Apache ZooKeeper"),
    check_ports,
    check_loopback,
    check_memory,
    lambda: check_disk(state_folder()),
    check_file_handles,
    check_locale,
    check_terminal,
)


def examine() -> list[Finding]:
    """Run all checks, and return their results in a fixed order."""
    return [finding for check in CHECKS for finding in check()]


_MARKS: Final = {Verdict.OK: "[green]✓[/]", Verdict.NOTE: "[yellow]●[/]", Verdict.BAD: "[red]✕[/]"}


@click.command()
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the findings to this file.",
)
def doctor(json_file: Path | None) -> None:
    """Check this machine. Each line of the output says what to do.

    Exits with 1 if a cluster cannot run here.
    """
    findings = examine()
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings:
        said = finding.seen + (f"\n[dim]→ {finding.advice}[/]" if finding.advice else "")
        table.add_row(_MARKS[finding.verdict], finding.what, said)
    Console().print(table)
    bad = [finding for finding in findings if finding.verdict is Verdict.BAD]
    click.echo(
        "A cluster cannot run here yet: see the lines marked ✕."
        if bad
        else f"All that `{command_line('demo')}` needs is here."
    )
    if json_file is not None:
        write_json(json_file, [finding._asdict() for finding in findings])
    if bad:
        raise SystemExit(1)
