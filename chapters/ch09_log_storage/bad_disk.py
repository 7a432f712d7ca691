"""A broker with two log dirs loses one of them, in five ways, under load.

Only the replicas in that dir go offline, and no acked record is lost. The dir is replaced by a
file, is removed, becomes read-only, is full, or cannot be read when the broker starts.
Each time the broker continues with its other dir, and the controller moves the leaders that were in
the bad one. Then the dir is repaired and the broker is restarted. At the end both dirs fail, and
the broker stops and logs why. The load is an unmodified producer with acks=all, and every acked
record is looked for at the end.

The bad dir lies on a small disk in memory, which this process mounts for itself and its brokers
(`private_mounts`). This needs no privilege if the system has user namespaces. Without them, the
case of the full disk is left out, and the report says so.
"""

import asyncio
import contextlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import click
from rich.console import Console
from rich.table import Table

from kafka_edu.cli.demo_frame import demo_command, zookeeper_option
from kafka_edu.cli.demo_topic import (
    BROKERS,
    create_topic,
    demo_admin,
    elect_preferred,
    wait_until_in_sync,
)
from kafka_edu.cli.progress import Progress
from kafka_edu.cli.report import Report
from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.admin_call import CONTROLLER
from kafka_edu.clients.admin.topic_calls import describe_topics
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster

from ..demo_parts.numbered_clients import ConfluentProducer
from ..demo_parts.private_mounts import PrivateMounts, enter
from ..demo_parts.stored_records import Found, compare, read_all

Look = TypeVar("Look")
NAME: Final = "bad-disk"
TOPIC: Final = "disks"
PARTITIONS: Final = 8
RECORD_BYTES: Final = 200
VICTIM: Final = 1
DISK_BYTES: Final = 64 * 1024 * 1024
_LOOK_EVERY_S: Final = 0.05
_TROUBLE: Final = re.compile(r"\[[^]]*\] (WARNING|ERROR|CRITICAL) ")
_TROUBLES_SHOWN: Final = 20
CLIENT_ID: Final = "demo-bad-disk"
PROPS: Final = {
    "auto.leader.rebalance.enable": "false",
    "replica.high.watermark.checkpoint.interval.ms": (
        "1000"
    ),  # if no file is opened by name, the dir fails only at the next checkpoint
}


class BadDir:
    """The log dir that fails: the folder `logs` on its own disk, `disk`."""

    def __init__(self, disk: Path, mounts: PrivateMounts) -> None:
        self.disk = disk
        self.logs = disk / "logs"
        self._aside = disk / "aside"
        self._ballast = disk / "ballast"
        self._mounts = mounts

    def prepare(self) -> None:
        """Make the folder `disk`. If mounting is allowed, mount a small disk in memory on it."""
        self.disk.mkdir(parents=True)
        if not self._mounts.refused:
            self._mounts.small_disk(self.disk, DISK_BYTES)

    def give_back(self) -> None:
        """Unmount the disk. Its files are then gone."""
        if not self._mounts.refused:
            with contextlib.suppress(OSError):
                self._mounts.unmount(self.disk)

    def replace_by_file(self) -> None:
        self.logs.rename(self._aside)
        self.logs.write_text("a file where a log dir should be\n")

    def put_back(self) -> None:
        self.logs.unlink()
        self._aside.rename(self.logs)

    def remove(self) -> None:
        shutil.rmtree(self.logs)

    def nothing(self) -> None:
        """Do nothing: the broker creates a missing dir at its next start."""

    def make_read_only(self) -> None:
        if self._mounts.refused:
            self.logs.chmod(0o500)
        else:
            self._mounts.read_only(self.logs)

    def make_writable(self) -> None:
        if self._mounts.refused:
            self.logs.chmod(0o755)
        else:
            self._mounts.unmount(self.logs)

    def fill(self) -> None:
        """Write until the disk is full."""
        piece = bytes(64 * 1024)
        with self._ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                if file.write(piece) < len(piece):
                    piece = piece[: max(len(piece) // 2, 1)]

    def empty(self) -> None:
        self._ballast.unlink()

    def forbid(self) -> None:
        self.logs.chmod(0)

    def allow(self) -> None:
        self.logs.chmod(0o755)


class Case(NamedTuple):
    """One way to break the log dir, and to repair it."""

    name: str
    break_it: Callable[[], None]
    repair: Callable[[], None]
    at_start: bool = False
    """Whether to break the dir while the broker is down."""
    skipped: str = ""
    """The reason why this system cannot show the case; empty if it can show it."""


class Seen(NamedTuple):
    """The outcome of one case."""

    name: str
    seconds: float
    """Seconds until the clients' metadata showed the replicas as offline.

    They count from the failure, or from the broker's start if the dir fails before.
    """
    in_bad_dir: list[int]
    offline: list[int]
    """The partitions whose replica on the broker is offline according to Metadata."""
    still_leads: int
    """The number of partitions in the other dir that the broker still leads."""
    leaders_left: int
    """The number of partitions in the bad dir that still name the broker as leader.

    0 is expected.
    """
    bad_dir_error: str
    good_dir_error: str
    alive: bool
    acked_meanwhile: int
    healed_s: float
    """Seconds from the restart with the repaired dir until all replicas were in sync."""


class Outcome(NamedTuple):
    seen: list[Seen]
    skipped: dict[str, str]
    last_words: str
    """The last log lines of the broker whose log dirs all failed."""
    ended: bool
    sent: int
    acked: int
    refused: int
    found: Found


def cases_of(bad: BadDir, mounts: PrivateMounts) -> list[Case]:
    modes = "" if mounts.modes_bind else "the mode of a file does not bind this user, who is root"
    return [
        Case("replaced by a file", bad.replace_by_file, bad.put_back),
        Case("removed", bad.remove, bad.nothing),
        Case(
            "read-only",
            bad.make_read_only,
            bad.make_writable,
            skipped=modes if mounts.refused else "",
        ),
        Case(
            "full",
            bad.fill,
            bad.empty,
            skipped=mounts.refused and f"a full disk needs a small one, and {mounts.refused}",
        ),
        Case("unreadable at the start", bad.forbid, bad.allow, at_start=True, skipped=modes),
    ]


class Stage:
    """The running cluster, and requests to it."""

    def __init__(self, cluster: Cluster, bad: BadDir, rate: int) -> None:
        self.cluster = cluster
        self.bad = bad
        create_topic(cluster.bootstrap_servers, TOPIC, PARTITIONS)
        self.producer = ConfluentProducer(
            cluster.bootstrap_servers, TOPIC, PARTITIONS, rate, RECORD_BYTES
        )

    def give_leaderships_back(self) -> None:
        """Make the first replica of each partition its leader again."""
        wait_until_in_sync(self.cluster.bootstrap_servers, TOPIC, PARTITIONS)
        with demo_admin(self.cluster.bootstrap_servers) as admin:
            _wait(
                lambda: elect_preferred(admin, TOPIC),
                lambda left: not left,
                "the first replicas to lead again",
            )

    def leaders_after_election(self) -> dict[int, int]:
        """Return partition → leader, after an election of the preferred replicas.

        A restarted broker is a follower until it is in sync and elected again.
        """
        with demo_admin(self._others()) as admin:
            elect_preferred(admin, TOPIC)
        return self.leaders()

    def leaders(self) -> dict[int, int]:
        """Return partition → leader, from the Metadata answer of the controller's broker."""
        return {number: leader for number, (leader, _) in sorted(self.metadata().items())}

    def metadata(self) -> dict[int, tuple[int, list[int]]]:
        """Return partition → (leader, offline replicas), as the controller's broker answers it."""
        return asyncio.run(self._metadata())

    async def _metadata(self) -> dict[int, tuple[int, list[int]]]:
        call = replace(describe_topics([TOPIC]), routes={TOPIC: CONTROLLER})
        async with Admin({"bootstrap.servers": self._others(), "client.id": CLIENT_ID}) as admin:
            partitions = (await admin.ask(call))[TOPIC].partitions
        return {
            each.partition: (
                -1 if each.leader is None else each.leader.id,
                [node.id for node in each.offline_replicas],
            )
            for each in partitions
        }

    def _others(self) -> str:
        return ",".join(
            f"127.0.0.1:{self.cluster.port(broker)}"
            for broker in self.cluster.broker_ids
            if broker != VICTIM
        )

    def dirs(self) -> dict[str, tuple[Errors, list[int]]]:
        """Return log dir of the broker → (error, partitions in it), from DescribeLogDirs."""
        return asyncio.run(self._dirs())

    async def _dirs(self) -> dict[str, tuple[Errors, list[int]]]:
        servers = self.cluster.bootstrap_servers
        async with Admin({"bootstrap.servers": servers, "client.id": CLIENT_ID}) as admin:
            dirs = (await admin.describe_log_dirs([VICTIM]))[VICTIM]
        return {
            path: (found.error, sorted(tp.partition for tp in found.replicas if tp.topic == TOPIC))
            for path, found in dirs.items()
        }

    def acked(self) -> int:
        """Return the number of records that are acked so far.

        Raises ClientGaveUp if the producer ended.
        """
        self.producer.check()
        return len(self.producer.acked)

    def offline(self) -> list[int]:
        return sorted(
            number for number, (_, replicas) in self.metadata().items() if VICTIM in replicas
        )

    def restart(self) -> float:
        """Start the stopped broker. Return the seconds until every replica is in sync."""
        began = time.monotonic()
        self.cluster.start(VICTIM)
        wait_until_in_sync(self.cluster.bootstrap_servers, TOPIC, PARTITIONS)
        return time.monotonic() - began


def _wait(look: Callable[[], Look], done: Callable[[Look], bool], what: str) -> None:
    """Call `look` again and again, until `done` is true for its result.

    If a broker does not answer, ask again. Raises Standstill if the result stops changing.
    """
    progress = Progress(what)
    while True:
        seen: Look | str = "no answer"
        with contextlib.suppress(KafkaException):
            seen = found = look()
            if done(found):
                return
        progress.note(seen)
        time.sleep(_LOOK_EVERY_S)


def in_dir(
    log_dir: str, dirs: Mapping[str, tuple[Errors, list[int]]], broker_log: str
) -> list[int]:
    """Return the partitions in a log dir.

    Raises ClusterError if there are none, because a failure of this dir would then show nothing.
    The message contains the warnings and errors in the broker's log.
    """
    error, partitions = dirs.get(log_dir, (Errors.LOG_DIR_NOT_FOUND, []))
    if partitions:
        return partitions
    lines = [line for line in broker_log.splitlines() if _TROUBLE.match(line)]
    raise ClusterError(
        f"broker {VICTIM} has no replica of {TOPIC} in {log_dir} ({error.name}), so a failure of"
        " that dir would show nothing. Its warnings and errors:\n"
        + ("\n".join(lines[-_TROUBLES_SHOWN:]) or "none")
    )


def play(stage: Stage, case: Case, console: Console) -> Seen:
    """Break the dir, observe the cluster, repair the dir, and restart the broker."""
    stage.give_leaderships_back()
    bad = str(stage.bad.logs)
    in_bad_dir = in_dir(bad, stage.dirs(), stage.cluster.log_text(VICTIM))
    acked = len(stage.producer.acked)
    if case.at_start:
        stage.cluster.stop(VICTIM)
    pid = stage.cluster.pid(VICTIM)
    began = time.monotonic()
    case.break_it()
    if case.at_start:
        stage.cluster.start(VICTIM)
        pid = stage.cluster.pid(VICTIM)
    console.print(f"[red]✕[/] {bad} of broker {VICTIM}: {case.name}")
    _wait(
        stage.offline,
        lambda offline: len(offline) >= len(in_bad_dir),
        f"the replicas {in_bad_dir} of the dir ({case.name}) to go offline",
    )
    seconds = time.monotonic() - began
    _wait(
        stage.leaders,
        lambda leaders: all(leaders[number] not in (VICTIM, -1) for number in in_bad_dir),
        f"the leaders of {in_bad_dir} to move",
    )
    others = [number for number in range(PARTITIONS) if number not in in_bad_dir]
    _wait(
        stage.leaders_after_election,
        lambda leaders: any(leaders[number] == VICTIM for number in others),
        f"broker {VICTIM} to lead some of {others}, which are in its other dir",
    )
    mark = len(stage.producer.acked)
    _wait(stage.acked, lambda acked: acked > mark + PARTITIONS, "the producer's acks")
    metadata, dirs = stage.metadata(), stage.dirs()
    errors = {log_dir: error for log_dir, (error, _) in dirs.items()}
    offline = stage.offline()
    seen = Seen(
        case.name,
        round(seconds, 2),
        in_bad_dir,
        offline,
        sum(metadata[number][0] == VICTIM for number in others),
        sum(metadata[number][0] == VICTIM for number in in_bad_dir),
        errors.pop(bad).name,
        ",".join(error.name for error in errors.values()),
        stage.cluster.pid(VICTIM) == pid,
        len(stage.producer.acked) - acked,
        0.0,
    )
    stage.cluster.stop(VICTIM)
    case.repair()
    healed_s = stage.restart()
    console.print(
        f"[green]●[/] offline after {seconds:.1f} s: partitions {offline}; the broker still led"
        f" {others}; healed {healed_s:.1f} s after the restart"
    )
    return seen._replace(healed_s=round(healed_s, 2))


def lose_every_dir(stage: Stage, console: Console) -> tuple[bool, str]:
    """Replace both dirs by files. Return whether the broker ended, and its last log lines."""
    stage.give_leaderships_back()
    good = next(log_dir for log_dir in stage.cluster.log_dirs(VICTIM) if log_dir != stage.bad.logs)
    aside = good.with_name(good.name + "-aside")
    stage.bad.replace_by_file()
    good.rename(aside)
    good.write_text("a file where a log dir should be\n")
    _wait(
        lambda: stage.cluster.status().broker(VICTIM).state,
        lambda state: state == "stopped",
        f"broker {VICTIM}, whose dirs have all failed, to stop",
    )
    words = next(
        (
            line
            for line in reversed(stage.cluster.log_text(VICTIM).splitlines())
            if "all log dirs in" in line
        ),
        "",
    )
    how = stage.cluster.status().broker(VICTIM).ended
    ended = how.startswith("ended with code 1: Shutdown broker because all log dirs in ")
    console.print(f"[red]✕[/] both dirs of broker {VICTIM} failed: it {how}")
    console.print(f"    {words}", soft_wrap=True, markup=False, highlight=False)
    good.unlink()
    aside.rename(good)
    stage.bad.put_back()
    stage.restart()
    return ended, words


def run(stage: Stage, cases: list[Case], console: Console) -> Outcome:
    stage.producer.start()
    skipped = {case.name: case.skipped for case in cases if case.skipped}
    for name, reason in skipped.items():
        console.print(f"[yellow]○[/] skipped: {name}, because {reason}", soft_wrap=True)
    seen = [play(stage, case, console) for case in cases if not case.skipped]
    ended, words = lose_every_dir(stage, console)
    stage.producer.finish()
    leaders = wait_until_in_sync(stage.cluster.bootstrap_servers, TOPIC, PARTITIONS)
    found = compare(stage.producer.acked, read_all(stage.cluster, TOPIC, leaders))
    return Outcome(
        seen,
        skipped,
        words,
        ended,
        stage.producer.sent,
        len(stage.producer.acked),
        len(stage.producer.refused),
        found,
    )


def show(outcome: Outcome, console: Console) -> None:
    table = Table("the dir is", title=f"What happened to broker {VICTIM}", title_justify="left")
    for column in (
        "offline after, s",
        "offline",
        "still leads",
        "acked meanwhile",
        "in sync after repair, s",
    ):
        table.add_column(column, justify="right")
    for each in outcome.seen:
        offline = ", ".join(map(str, each.offline))
        table.add_row(
            each.name,
            f"{each.seconds:g}",
            offline,
            str(each.still_leads),
            f"{each.acked_meanwhile:,}",
            f"{each.healed_s:g}",
        )
    console.print(table)


def report_of(outcome: Outcome) -> Report:
    report = Report(NAME)
    for each in outcome.seen:
        for name, value in each._asdict().items():
            if name != "name":
                report.figure(f"{each.name}: {name.replace('_', ' ')}", value)
    report.figure("skipped, and why", outcome.skipped)
    report.figure("the last words of the broker without a dir", outcome.last_words)
    report.figure("sent", outcome.sent)
    report.figure("acked", outcome.acked)
    report.figure("refused", outcome.refused)
    for name, value in outcome.found._asdict().items():
        report.figure(name, value)
    played = len(outcome.seen)
    storage_error = Errors.KAFKA_STORAGE_ERROR.name
    report.target("cases played, or skipped with a reason", played + len(outcome.skipped), "==", 5)
    report.target(
        "cases in which exactly the replicas in the bad dir went offline",
        sum(s.offline == s.in_bad_dir for s in outcome.seen),
        "==",
        played,
    )
    report.target(
        "cases in which the broker stayed up and kept leading in its other dir",
        sum(s.alive and s.still_leads > 0 for s in outcome.seen),
        "==",
        played,
    )
    report.target("leaders left in a bad dir", sum(s.leaders_left for s in outcome.seen), "==", 0)
    named = sum(
        (s.bad_dir_error, s.good_dir_error) == (storage_error, Errors.NONE.name)
        for s in outcome.seen
    )
    report.target(
        "cases in which DescribeLogDirs names the bad dir, and no other", named, "==", played
    )
    report.target(
        "with no dir left the broker ends and says why (1: yes)",
        int(outcome.ended and outcome.last_words != ""),
        "==",
        1,
    )
    report.target("acked records", outcome.acked, ">", 0)
    report.target("acked records that are lost", outcome.found.lost, "==", 0)
    report.target("records stored twice", outcome.found.duplicates, "==", 0)
    return report


@demo_command(NAME, figures=False)
@click.option(
    "--rate",
    type=click.IntRange(1, 100_000),
    default=400,
    show_default=True,
    help="Records a second.",
)
@zookeeper_option
def bad_disk(console: Console, rate: int, zookeeper: str) -> Report:
    """Let one of a broker's two log dirs fail, in five ways, under load.

    Only the replicas in this dir go offline. The exit code is 1 if a target is missed.
    """
    mounts = enter()
    with contextlib.ExitStack() as stack:
        home = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="kafka-edu-disks-", ignore_cleanup_errors=True)
            )
        ).resolve()
        bad = BadDir(home / "disk", mounts)
        bad.prepare()
        stack.callback(bad.give_back)
        own = {VICTIM: {"log.dirs": f"{home / 'data'},{bad.logs}"}}
        cluster = stack.enter_context(
            running_cluster(
                NAME, brokers=BROKERS, zookeeper=zookeeper, props=PROPS, broker_props=own
            )
        )
        outcome = run(Stage(cluster, bad, rate), cases_of(bad, mounts), console)
    show(outcome, console)
    report = report_of(outcome)
    report.end(
        happened="Each time only the replicas in the bad dir went offline, and all"
        f" {outcome.acked:,} acked records are there.",
        why="An error of a log dir ends the use of that dir only: the controller learns of it"
        " through ZooKeeper and moves the leaders.",
        look_next="Read docs/log-dirs.md, and see the log dirs of your own cluster with"
        f" {command_line('log-dirs')}.",
    )
    return report
