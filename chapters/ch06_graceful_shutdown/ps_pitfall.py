"""Why kafka-server-stop.sh did not find brokers: command lines cut at 4096 bytes (book 000 §6.4.2;
spec G3). An exhibit, of history.

The script looks for `kafka.Kafka` in what `ps ax` prints. Linux before 4.2 (August 2015) gave at
most one page of a command line in /proc/PID/cmdline, 4096 bytes, whatever `ps` was asked for; and
Kafka's class is behind the class path, which is long: "No kafka server to stop". (Among those who
met it: KAFKA-4297, KAFKA-4389, KAFKA-4931. With the kernel 3.10 of RHEL and CentOS 7 it lived on
for years.) Kernels since then give all of it, and a `ps` that writes into a pipe prints all of it;
but procps still cuts its lines at COLUMNS, where that is in the environment.

Here stand three processes with the command lines of a broker behind a short class path, of one
behind a long one, and of a program that is no broker but is kept in a folder called kafka. The
script's own pipeline is run, by the shell, on what today's `ps` prints, and on the same command
lines cut as the old kernels cut them; then the book's remedy, which looks for `kafka` alone; then
what `kafka-edu server-stop` does.
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

#: What Linux before 4.2 gave of a command line: `len > PAGE_SIZE` in fs/proc/base.c.
PAGE_SIZE: Final = 4096
#: kafka-server-stop.sh of 2.0.1, behind `ps ax`.
SCRIPT: Final = r"grep -i 'kafka\.Kafka' | grep java | grep -v grep | awk '{print $1}'"
#: What the book makes of it.
REMEDY: Final = "grep -i 'kafka' | grep java | grep -v grep | awk '{print $1}'"
MAIN_CLASS: Final = "kafka.Kafka"
SHORT, LONG, BYSTANDER = "short", "long", "bystander"
_FOLDER: Final = "/opt/bigdata/kafka_2.11-2.0.1/bin/../libs"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_JARS: Final = {SHORT: 10, LONG: 120, BYSTANDER: 3}


class Seen(NamedTuple):
    """Which of the processes one way of looking finds."""

    way: str
    short: bool
    long: bool
    bystander: bool


def command_line(which: str) -> list[str]:
    """As kafka-run-class.sh builds it: `java`, options, the class path, the class, its argument.
    Here `java` is a shell that waits for its end.
    """
    class_path = ":".join(f"{_FOLDER}/library-{number}-2.0.1.jar" for number in range(_JARS[which]))
    main = "com.example.KafkaBackup" if which == BYSTANDER else MAIN_CLASS
    return ["java", "-c", "echo; read line", "-cp", class_path, main, "config/server.properties"]


@contextlib.contextmanager
def stand_ins() -> Iterator[dict[str, int]]:
    """The three processes, for the time of the block: name → pid."""
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
            # before it says something its command line may not be there yet
            process.stdout.readline()
        yield {which: process.pid for which, process in running.items()}
    finally:
        for process in running.values():
            process.communicate(b"\n")


def as_ps_printed_it(commands: Iterable[tuple[int, list[str]]]) -> str:
    """The lines of `ps ax` on Linux before 4.2: pid, terminal, state, time, and of the command line
    the first 4096 bytes with blanks between arguments. A control character is a question mark, so
    that a command of several lines takes one.
    """
    return "".join(
        f"{pid:5} ?        Sl     0:00 {_CONTROL.sub('?', _first_page(arguments))}\n"
        for pid, arguments in commands
    )


def _first_page(arguments: list[str]) -> str:
    return os.fsencode(" ".join(arguments))[:PAGE_SIZE].decode(errors="replace")


def pids_by(pipeline: str, lines: str | None = None, columns: int | None = None) -> set[int]:
    """The output of the shell's pipeline. It reads `lines`, or else what `ps ax` prints now, with
    or without COLUMNS in the environment.
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
    """Every way of looking, and how many bytes each command line has."""
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
        "before 4.2: the script finds the one with the short (1: yes)", int(old.short), "==", 1
    )
    report.target(
        "before 4.2: the script finds the one with the long (1: yes)", int(old.long), "==", 0
    )
    report.target(
        "before 4.2: the remedy finds the one with the long (1: yes)", int(remedy.long), "==", 1
    )
    report.target(
        "before 4.2: the remedy takes a program for a broker that is none (1: yes)",
        int(remedy.bystander),
        "==",
        1,
    )
    report.target("by whole arguments: brokers found", whole.short + whole.long, "==", 2)
    report.target("by whole arguments: others taken for brokers", int(whole.bystander), "==", 0)
    return report


@demo_command("ps-pitfall", figures=False)
def ps_pitfall(console: Console) -> Report:
    """Why kafka-server-stop.sh missed brokers on Linux before 4.2: its own pipeline on a command
    line cut at 4096 bytes.

    Stops nothing. Exits with 1 when a target does not hold.
    """
    seen, lengths = look()
    show(seen, lengths, console)
    report = report_of(seen, lengths)
    report.end(
        happened="Kafka's pipeline found the broker with the short command line, and on Linux"
        " before 4.2 it missed the one with the long command line.",
        why="Before 4.2 the kernel kept only the first 4,096 bytes of a command line, and the class"
        " name kafka.Kafka stands at its end.",
        look_next="Stop a broker the safe way, which compares whole arguments:"
        f" {python_process.command_line('server-stop')}. Book 000 §6.4.2 tells the story.",
    )
    return report
