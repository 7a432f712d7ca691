"""Show why kafka-server-stop.sh did not find brokers: command lines were cut at 4096 bytes.

This is a piece of Kafka's history (book 000 §6.4.2; spec G3).

The script looks for `kafka.Kafka` in the output of `ps ax`. Linux before 4.2 (August 2015) returned
at most one page of a command line in /proc/PID/cmdline: 4096 bytes, whatever options `ps` had.
Kafka's class name is after the class path, which is long. So the script printed "No kafka
server to stop". (KAFKA-4297, KAFKA-4389 and KAFKA-4931 report it. With the kernel 3.10 of RHEL and
CentOS 7 the problem lasted for years.) Newer kernels return the whole command line, and a `ps` that
writes into a pipe prints all of it. But procps still cuts its lines at COLUMNS if this variable is
in the environment.

The exhibit starts three processes. The first has the command line of a broker with a short class
path, and the second has the command line of a broker with a long class path. The third is not a
broker, but its program lies in a folder called kafka. The shell runs the script's own pipeline on
what today's `ps` prints, and on the same command lines cut as the old kernels cut them. Then it
runs the book's remedy, which looks for `kafka` alone. At the end, `kafka-edu server-stop` looks for
the brokers.
"""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from kafka_edu.cli.demo_frame import demo_command
from kafka_edu.cli.report import Report
from kafka_edu.common import python_process
from kafka_edu.tools.server_stop import all_commands

#: How many bytes of a command line Linux before 4.2 returned: `len > PAGE_SIZE` in fs/proc/base.c.
PAGE_SIZE: Final = 4096
#: The pipeline of kafka-server-stop.sh 2.0.1. It gets the output of `ps ax`.
SCRIPT: Final = r"grep -i 'kafka\.Kafka' | grep java | grep -v grep | awk '{print $1}'"
#: The same pipeline with the book's remedy.
REMEDY: Final = "grep -i 'kafka' | grep java | grep -v grep | awk '{print $1}'"
MAIN_CLASS: Final = "kafka.Kafka"
SHORT, LONG, BYSTANDER = "short", "long", "bystander"
_FOLDER: Final = "/opt/bigdata/kafka_2.11-2.0.1/bin/../libs"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_JARS: Final = {SHORT: 10, LONG: 120, BYSTANDER: 3}


class Seen(NamedTuple):
    """One way to search, and which of the processes it finds."""

    way: str
    short: bool
    long: bool
    bystander: bool


def command_line(which: str) -> list[str]:
    """Return a command line as kafka-run-class.sh builds it.

    Its parts are `java`, options, the class path, the class, and its argument. The program behind
    the name `java` is a shell that waits for its end.
    """
    class_path = ":".join(f"{_FOLDER}/library-{number}-2.0.1.jar" for number in range(_JARS[which]))
    main = "com.example.KafkaBackup" if which == BYSTANDER else MAIN_CLASS
    return ["java", "-c", "echo; read line", "-cp", class_path, main, "config/server.properties"]


@contextlib.contextmanager
def stand_ins() -> Iterator[dict[str, int]]:
    """Run three processes with long and short command lines during the block. Yield name → pid."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for which in _JARS:
            running[which] = subprocess.Popen(
                command_line(which),
                executable="/bin/sh",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        for process in running.values():
            assert process.stdout is not None
            # before it has printed a line, its command line may not exist yet
            process.stdout.readline()
        yield {which: process.pid for which, process in running.items()}
    finally:
        for process in running.values():
            process.communicate(b"\n")


def as_ps_printed_it(commands: Iterable[tuple[int, list[str]]]) -> str:
    """Return the lines that `ps ax` printed on Linux before 4.2.

    A line has the pid, terminal, state, time and command. The command is the first 4096 bytes of
    the command line, with blanks between the arguments. Each control character becomes a question
    mark, so that a command with line breaks stays on one line.
    """
    return "".join(
        f"{pid:5} ?        Sl     0:00 {_CONTROL.sub('?', _first_page(arguments))}\n"
        for pid, arguments in commands
    )


def _first_page(arguments: list[str]) -> str:
    return os.fsencode(" ".join(arguments))[:PAGE_SIZE].decode(errors="replace")


def pids_by(pipeline: str, lines: str | None = None, columns: int | None = None) -> set[int]:
    """Run the shell's pipeline, and return the pids that it prints.

    Its input is `lines`, or the output of `ps ax` if that is None. `columns` sets COLUMNS in the
    environment.
    """
    command = pipeline if lines is not None else f"ps ax | {pipeline}"
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | (
        {"COLUMNS": str(columns)} if columns else {}
    )
    printed = subprocess.run(
        ["/bin/sh", "-c", command],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    ).stdout
    return {int(word) for word in printed.split()}


def look() -> tuple[list[Seen], dict[str, int]]:
    """Search for the three processes in each way.

    Return the results, and the length of each command line in bytes.
    """
    with stand_ins() as pids:
        commands = all_commands()
        ours = [(pid, arguments) for pid, arguments in commands if pid in pids.values()]
        lengths = {which: len(" ".join(command_line(which))) for which in pids}
        old = as_ps_printed_it(commands)
        ways = {}
        if shutil.which("ps"):
            ways["ps ax | grep kafka.Kafka, on this system"] = pids_by(SCRIPT)
            ways["the same, with COLUMNS=80 in the environment"] = pids_by(SCRIPT, columns=80)
        ways["the same, on Linux before 4.2 (cut at 4096 bytes)"] = pids_by(SCRIPT, old)
        ways["the book's remedy, grep kafka, on Linux before 4.2"] = pids_by(REMEDY, old)
        ways["a whole argument kafka.Kafka, as server-stop looks"] = {
            pid for pid, arguments in ours if MAIN_CLASS in arguments
        }
        return [
            Seen(way, *(pids[which] in found for which in (SHORT, LONG, BYSTANDER)))
            for way, found in ways.items()
        ], lengths


def show(seen: list[Seen], lengths: dict[str, int], console: Console) -> None:
    table = Table("found by", title="Is it a broker?", title_justify="left")
    for which, what in ((SHORT, "broker"), (LONG, "broker"), (BYSTANDER, "no broker")):
        table.add_column(f"{what}, {lengths[which]:,} bytes", justify="center")
    for each in seen:
        words = (
            "yes" if each.short else "no",
            "yes" if each.long else "no",
            "yes" if each.bystander else "no",
        )
        right = (each.short, each.long, not each.bystander)
        table.add_row(
            each.way,
            *(
                f"[{'green' if well else 'red'}]{word}[/]"
                for word, well in zip(words, right, strict=True)
            ),
        )
    console.print(table)


def report_of(seen: list[Seen], lengths: dict[str, int]) -> Report:
    report = Report("ps-pitfall")
    for which, length in lengths.items():
        report.figure(f"bytes of the command line, {which}", length)
    for each in seen:
        report.figure(each.way, {SHORT: each.short, LONG: each.long, BYSTANDER: each.bystander})
    *today, old, remedy, whole = seen
    for each in today[:1]:
        report.target(
            "on this system: the script finds the broker with the long command line (1: yes)",
            int(each.long),
            "==",
            1,
        )
    report.target(
        "before 4.2: the script finds the broker with the short command line (1: yes)",
        int(old.short),
        "==",
        1,
    )
    report.target(
        "before 4.2: the script finds the broker with the long command line (1: yes)",
        int(old.long),
        "==",
        0,
    )
    report.target(
        "before 4.2: the remedy finds the broker with the long command line (1: yes)",
        int(remedy.long),
        "==",
        1,
    )
    report.target(
        "before 4.2: the remedy also finds a program that is not a broker (1: yes)",
        int(remedy.bystander),
        "==",
        1,
    )
    report.target("by whole arguments: brokers found", whole.short + whole.long, "==", 2)
    report.target("by whole arguments: other programs found", int(whole.bystander), "==", 0)
    return report


@demo_command("ps-pitfall", figures=False)
def ps_pitfall(console: Console) -> Report:
    """Show why kafka-server-stop.sh missed brokers on Linux before 4.2.

    Its own pipeline reads a command line that was cut at 4096 bytes. No broker is stopped. The exit
    code is 1 if a target is missed.
    """
    seen, lengths = look()
    show(seen, lengths, console)
    report = report_of(seen, lengths)
    report.end(
        happened="Kafka's pipeline found the broker with the short command line, and on Linux"
        " before 4.2 it missed the one with the long command line.",
        why="Before 4.2 the kernel kept only the first 4,096 bytes of a command line, and the"
        " class name kafka.Kafka is at its end.",
        look_next="Stop a broker the safe way, which compares whole arguments:"
        f" {python_process.command_line('server-stop')}. Book 000 §6.4.2 tells the story.",
    )
    return report
