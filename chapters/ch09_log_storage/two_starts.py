"""A broker is started a second time on the log dirs of a running broker.

The second start is refused, and the first broker is not disturbed. There are three brokers, a topic
with three replicas, and an unmodified producer with acks=all that runs from beginning to end. The
server.properties of one broker is started again, as a user with two terminals may do by mistake.
This happens three times: under load; while the first process is paused (SIGSTOP), so that every
byte and time stamp of its files can be compared; and after a kill -9, when the lock must be free at
once. At the end the demo checks that every acked record is still there.
"""

import hashlib
import itertools
import subprocess
import time
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.console import Console

from kafka_edu.cli.demo_frame import demo_command, zookeeper_option
from kafka_edu.cli.demo_topic import (
    BROKERS,
    create_topic,
    wait_until_in_sync,
)
from kafka_edu.cli.report import Report
from kafka_edu.common.files import FileLockedError, OsFileSystem
from kafka_edu.common.python_process import command_line, python_command, python_environment
from kafka_edu.log.log_dirs import LOCK_FILE
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster

from ..demo_parts.numbered_clients import ConfluentProducer
from ..demo_parts.stored_records import Found, compare, read_all

NAME: Final = "two-starts"
TOPIC: Final = "starts"
PARTITIONS: Final = 6
RECORD_BYTES: Final = 200
VICTIM: Final = 1
#: In seconds. A start without the lock ends early. A start that takes this long has the lock.
START_TIMEOUT_S: Final = 300.0
_LOOK_EVERY_S: Final = 0.01


class Start(NamedTuple):
    """One attempt to start the broker a second time."""

    when: str
    exit_code: int
    took_s: float
    names_holder: bool
    """Whether the last log lines name the process that holds the lock."""
    words: str


class Outcome(NamedTuple):
    starts: list[Start]
    files_compared: int
    files_changed: int
    same_process: bool
    """Whether the first broker is still the same process as before the second starts."""
    tries_after_kill: int
    """How many attempts to get the lock were needed after the kill -9."""
    sent: int
    acked: int
    refused: int
    found: Found


def start_again(cluster: Cluster, when: str, pid: int) -> Start:
    """Start the broker's properties file in another process, which is expected to end."""
    began = time.monotonic()
    command = python_command("kafka_edu.server.main", str(cluster.folder.broker_properties(VICTIM)))
    process = subprocess.Popen(
        command,
        env=python_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        words = process.communicate(timeout=START_TIMEOUT_S)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        words = process.communicate()[1]
    last = next(
        (line for line in reversed(words.splitlines()) if "cannot start" in line), words[-300:]
    )
    took_s = time.monotonic() - began
    return Start(
        when,
        process.returncode,
        round(took_s, 2),
        f"held by process {pid}." in words and "Failed to acquire lock" in words,
        last,
    )


def fingerprints(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Return file → (size, time of last change, hash of its bytes), for all files in the folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            stat = path.stat()
            found[str(path.relative_to(folder))] = (
                stat.st_size,
                stat.st_mtime_ns,
                hashlib.sha256(path.read_bytes()).hexdigest(),
            )
    return found


def tries_until_free(cluster: Cluster) -> int:
    """Return how many attempts are needed to get the lock of the broker's log dir.

    The lock is released again.
    """
    end = time.monotonic() + START_TIMEOUT_S
    for tries in itertools.count(1):
        try:
            OsFileSystem().lock(str(cluster.folder.broker_data(VICTIM) / LOCK_FILE)).release()
        except FileLockedError as error:
            if time.monotonic() > end:
                raise ClusterError(
                    f"the lock of a broker that was killed is still held after {START_TIMEOUT_S:g}"
                    f" s: {error}"
                ) from error
            time.sleep(_LOOK_EVERY_S)
        else:
            return tries
    raise AssertionError


def run(cluster: Cluster, rate: int, console: Console) -> Outcome:
    create_topic(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    producer = ConfluentProducer(cluster.bootstrap_servers, TOPIC, PARTITIONS, rate, RECORD_BYTES)
    producer.start()
    pid = cluster.pid(VICTIM)
    starts = [start_again(cluster, "under load", pid)]
    _say(console, starts[-1])
    cluster.pause(VICTIM)
    before = fingerprints(cluster.folder.broker(VICTIM))
    starts.append(start_again(cluster, "while the first is paused", pid))
    after = fingerprints(cluster.folder.broker(VICTIM))
    cluster.resume(VICTIM)
    _say(console, starts[-1])
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    console.print(
        f"[green]●[/] {len(before)} files of the paused broker compared: {len(changed)} changed"
    )
    wait_until_in_sync(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    same_process = cluster.pid(VICTIM) == pid
    cluster.kill(VICTIM)
    tries = tries_until_free(cluster)
    console.print(
        f"[red]✕[/] kill -9 {pid}: its lock was free at try {tries}; the broker is started again"
    )
    cluster.start(VICTIM)
    leaders = wait_until_in_sync(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    producer.finish()
    found = compare(producer.acked, read_all(cluster, TOPIC, leaders))
    return Outcome(
        starts,
        len(before),
        len(changed),
        same_process,
        tries,
        producer.sent,
        len(producer.acked),
        len(producer.refused),
        found,
    )


def _say(console: Console, start: Start) -> None:
    console.print(
        f"[green]●[/] second start, {start.when}: ended with code {start.exit_code} after"
        f" {start.took_s:g} s",
        soft_wrap=True,
    )
    console.print(f"    {start.words}", soft_wrap=True, markup=False, highlight=False)


def report_of(outcome: Outcome) -> Report:
    report = Report(NAME)
    for start in outcome.starts:
        report.figure(f"second start {start.when}: exit code", start.exit_code)
        report.figure(f"second start {start.when}: s", start.took_s)
    report.figure("files of the first broker compared", outcome.files_compared)
    report.figure("sent", outcome.sent)
    report.figure("acked", outcome.acked)
    report.figure("refused", outcome.refused)
    for name, value in outcome.found._asdict().items():
        report.figure(name, value)
    report.target(
        "second starts refused with exit code 1",
        sum(start.exit_code == 1 for start in outcome.starts),
        "==",
        len(outcome.starts),
    )
    report.target(
        "refusals that name the process that holds the lock",
        sum(s.names_holder for s in outcome.starts),
        "==",
        len(outcome.starts),
    )
    report.target(
        "files of the first broker changed by a second start", outcome.files_changed, "==", 0
    )
    report.target(
        "the first broker is the same process as before (1: yes)",
        int(outcome.same_process),
        "==",
        1,
    )
    report.target(
        "tries until the lock was free after the kill -9", outcome.tries_after_kill, "==", 1
    )
    report.target("acked records", outcome.acked, ">", 0)
    report.target("acked records that are lost", outcome.found.lost, "==", 0)
    report.target("records stored twice", outcome.found.duplicates, "==", 0)
    return report


@demo_command(NAME)
@click.option(
    "--rate",
    type=click.IntRange(1, 100_000),
    default=500,
    show_default=True,
    help="Records a second.",
)
@zookeeper_option
def two_starts(console: Console, rate: int, zookeeper: str) -> Report:
    """Start a broker a second time on the same log dirs.

    The second start is refused, and the first broker is unharmed. The exit code is 1 if a target is
    missed.
    """
    with running_cluster(NAME, brokers=BROKERS, zookeeper=zookeeper) as cluster:
        outcome = run(cluster, rate, console)
    report = report_of(outcome)
    report.end(
        happened=f"The second broker ended with code 1 each time, and all {outcome.acked:,} acked"
        " records of the first are there.",
        why=f"A broker locks the file {LOCK_FILE} in each log dir before it reads anything, and the"
        " kernel keeps that lock until the process ends, also while it is paused.",
        look_next=f"Read docs/log-dirs.md, or run {command_line('demo bad-disk')}.",
    )
    return report
