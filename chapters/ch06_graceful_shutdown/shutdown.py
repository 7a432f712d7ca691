"""Compare SIGTERM with kill -9 on the same broker of three, under the same producers.

A table shows what each of them costs (book 000 §6.4.2; spec G1, G2).

First the broker gets SIGTERM: it has the controller move its leaders away, flushes its logs, and
writes `.kafka_cleanshutdown`. It is started again, and its leaderships are given back. Then it is
killed with -9: ZooKeeper notices its death only after the session time-out of 6 s, and its next
start must read its logs. Two patient producers wait as long as clients do by default, two minutes.
A third producer gives up a record after three seconds, like an application with a user in front of
it. A record that it has given up may be stored twice later, because its client then begins a new
epoch. The times come from the brokers' own recordings and from the producers' acks.
"""

import contextlib
import itertools
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from kafka_edu.cli.demo_frame import demo_command, zookeeper_option
from kafka_edu.cli.demo_topic import (
    BROKERS,
    create_topic,
    demo_admin,
    elect_preferred,
    leaders_of,
    wait_until_in_sync,
)
from kafka_edu.cli.progress import wait_while_moving
from kafka_edu.cli.report import Report, number
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.common.python_process import command_line
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.trace.reader import open_recording

from ..demo_parts.numbered_clients import ConfluentProducer, NumberedProducer, PythonProducer
from ..demo_parts.stored_records import Found, compare, read_all
from .shutdown_events import End, Moves, Start, end_of, moves, start_of

TOPIC: Final = "shutdown"
RECORD_BYTES: Final = 200
HASTY: Final = "hasty"
HASTY_TIMEOUT_MS: Final = 3_000
WARM_UP_S: Final = 3.0
_LOOK_EVERY_S: Final = 0.02
_ELECT_EVERY_S: Final = 0.2
SIGTERM: Final = "SIGTERM"
KILL: Final = "kill -9"


class Round(NamedTuple):
    """One shutdown or kill of the broker, and what it cost."""

    how: str
    led: int
    """The number of partitions that the broker led."""
    moves: Moves
    silences_ms: list[float]
    """One number for each partition that the broker led: the longest time without an ack, in ms.

    It is measured at the two patient producers, and the longer of the two times counts.
    """
    given_up: int
    """The number of records that the patient producers gave up."""
    given_up_after_3_s: int
    """The number of records that the third producer gave up after 3 s."""
    given_up_without_leader: int
    """How many of the records given up after 3 s had a partition without leader at that moment.

    On a busy machine, records can also wait for 3 s while all brokers work.
    """
    gone_ms: float
    """Time in ms from the signal to the end of the process."""
    end: End
    clean_file: bool
    """Whether .kafka_cleanshutdown was there when the process had ended."""
    start: Start


class Outcome(NamedTuple):
    rounds: list[Round]
    sent: int
    acked: int
    found: Found
    """The patient producers' records that were found."""
    found_of_hasty: Found


class Stage:
    """A running cluster with three producers. Its brokers record their events."""

    def __init__(self, cluster: Cluster, recordings: Path, partitions: int, rate: int) -> None:
        self.cluster = cluster
        self.partitions = partitions
        self._recordings = recordings
        create_topic(cluster.bootstrap_servers, TOPIC, partitions)
        servers = cluster.bootstrap_servers
        self.patient: list[NumberedProducer] = [
            make(servers, TOPIC, partitions, rate // 3, RECORD_BYTES)
            for make in (ConfluentProducer, PythonProducer)
        ]
        self.hasty = ConfluentProducer(
            servers,
            TOPIC,
            partitions,
            rate // 3,
            RECORD_BYTES,
            name=HASTY,
            delivery_timeout_ms=HASTY_TIMEOUT_MS,
        )
        self.producers: list[NumberedProducer] = [*self.patient, self.hasty]

    def wait_until_in_sync(self) -> dict[int, int]:
        return wait_until_in_sync(self.cluster.bootstrap_servers, TOPIC, self.partitions)

    def give_leaderships_back(self) -> dict[int, int]:
        """Return partition → leader, after the preferred replicas have become leaders again.

        Raises Standstill if they do not.
        """
        self.wait_until_in_sync()

        def not_preferred() -> dict[int, int] | None:
            with contextlib.suppress(ClientException):  # no answer in time: ask again later
                return elect_preferred(admin, TOPIC)
            return None

        with demo_admin(self.cluster.bootstrap_servers) as admin:
            wait_while_moving(
                not_preferred,
                lambda left: left == {},
                "the first replicas to lead again",
                _ELECT_EVERY_S,
            )
        return self.wait_until_in_sync()

    def recording(self, broker: int, life: int = 0) -> Path:
        """Return the file with a broker's recording of one life (from a start to the next end).

        `life` counts back from the current life, which is 0. Each start renames the recording
        before it to .1, .2 …
        """
        path = self._recordings / f"{broker}.record"
        older = sorted(self._recordings.glob(f"{path.name}.*"), key=lambda p: int(p.suffix[1:]))
        return [*older, path][-1 - life]

    def clean_file(self, broker: int) -> bool:
        return (self.cluster.folder.broker_data(broker) / ".kafka_cleanshutdown").exists()

    def wait_until_led(self, led: Sequence[int], gone: int) -> None:
        """Wait until each of the partitions `led` has a leader that is not the broker `gone`.

        Raises Standstill if that does not happen.
        """

        def leaders() -> dict[int, int]:
            with contextlib.suppress(ClientException):  # this broker has just died
                return leaders_of(admin, TOPIC)
            return {}

        with demo_admin(self.cluster.bootstrap_servers) as admin:
            wait_while_moving(
                leaders,
                lambda found: all(found.get(number, -1) not in (gone, -1) for number in led),
                f"new leaders for the partitions of broker {gone}",
                _LOOK_EVERY_S,
            )

    def wait_until_acked(self, partitions: Sequence[int], since: float) -> None:
        """Wait until both patient producers have an ack on each partition after the time `since`.

        Raises Standstill if no more acks come, and ClientGaveUp if a client ended.
        """

        def without_ack() -> list[tuple[str, int]]:
            for producer in self.producers:
                producer.check()
            return [
                (producer.name, each)
                for producer in self.patient
                for each in partitions
                if producer.ack_times[each][-1:] <= [since]
            ]

        wait_while_moving(
            without_ack,
            lambda left: not left,
            f"an ack on each of the partitions {list(partitions)}",
            _LOOK_EVERY_S,
        )

    def refused(self) -> Counter[str]:
        """Return how many records the patient producers have given up so far, by reason."""
        return Counter(reason for producer in self.patient for reason in producer.refused)

    def silences_ms(self, led: Sequence[int], since: float, until: float) -> list[float]:
        """Return the longest time without an ack in ms, for each partition in `led`.

        Only the time from `since` to `until`, while leaders moved, counts. Of the two patient
        producers, the longer wait counts.
        """
        return [
            max(
                longest_silence(producer.ack_times[each], since, until) for producer in self.patient
            )
            * 1000
            for each in led
        ]


def longest_silence(acks: Sequence[float], since: float, until: float) -> float:
    """Return the longest time in seconds between two acks.

    An interval counts only if it begins before `until` and ends after `since`.
    """
    return max(
        (b - a for a, b in itertools.pairwise(acks) if a <= until and b >= since), default=0.0
    )


def play(stage: Stage, how: str, victim: int, console: Console) -> Round:
    """End the broker `victim` with SIGTERM or kill -9, start it again, and return all figures."""
    leaders = stage.give_leaderships_back()
    led = [partition for partition, leader in leaders.items() if leader == victim]
    time.sleep(WARM_UP_S)  # so that the logs have some records
    stage.wait_until_acked(led, 0)
    refused_before = stage.refused()
    hastily_refused = len(stage.hasty.refusals)
    began, began_us = time.monotonic(), time.monotonic_ns() // 1000
    if how == SIGTERM:
        stage.cluster.stop(victim)
    else:
        stage.cluster.kill(victim)
    gone_ms = (time.monotonic() - began) * 1000
    clean_file = stage.clean_file(victim)
    console.print(
        f"[red]✕[/] {how}: broker {victim}, leader of {len(led)} partitions, is gone after"
        f" {gone_ms:.0f} ms",
        soft_wrap=True,
    )
    stage.wait_until_led(led, victim)
    moved = time.monotonic()
    stage.wait_until_acked(led, moved)  # only after these acks the longest silence is known
    stage.cluster.start(victim)
    stage.wait_until_in_sync()
    refused = stage.refused() - refused_before
    for reason, records in refused.items():
        console.print(f"[red]refused[/] {records}: {reason}", soft_wrap=True)
    everything = [
        envelope
        for broker in range(BROKERS)
        if broker != victim
        for envelope in open_recording(str(stage.recording(broker)))
    ]
    before, after = (open_recording(str(stage.recording(victim, life))) for life in (1, 0))
    moved_away = moves(
        [*everything, *before],
        [TopicPartition(TOPIC, partition) for partition in led],
        victim,
        began_us,
    )
    hasty = stage.hasty.refusals[hastily_refused:]
    result = Round(
        how,
        len(led),
        moved_away,
        stage.silences_ms(led, began, moved),
        refused.total(),
        len(hasty),
        sum(
            moved_away.was_without_leader(TopicPartition(TOPIC, partition), at * 1e6)
            for partition, at in hasty
        ),
        gone_ms,
        end_of(before),
        clean_file,
        start_of(after),
    )
    console.print(
        f"[green]●[/] {len(result.moves.ms_without_leader)} leaders moved; the broker is back and"
        " in sync",
        soft_wrap=True,
    )
    return result


def run(stage: Stage, console: Console) -> Outcome:
    """Run both rounds (SIGTERM, kill -9) while the producers run. Then compare every stored record
    with the acks.
    """
    controller = stage.cluster.wait_ready()
    victim = next(broker for broker in stage.cluster.broker_ids if broker != controller)
    for producer in stage.producers:
        producer.start()
    rounds = [play(stage, how, victim, console) for how in (SIGTERM, KILL)]
    for producer in stage.producers:
        producer.finish()
    leaders = stage.wait_until_in_sync()
    stored = read_all(stage.cluster, TOPIC, leaders)
    acked = {
        place: offset for producer in stage.patient for place, offset in producer.acked.items()
    }
    found = compare(acked, [record for record in stored if record.place.producer != HASTY])
    found_of_hasty = compare(
        stage.hasty.acked, [record for record in stored if record.place.producer == HASTY]
    )
    sent = sum(producer.sent for producer in stage.producers)
    return Outcome(rounds, sent, len(acked) + len(stage.hasty.acked), found, found_of_hasty)


def rows(result: Round) -> dict[str, float]:
    """Return the rows of the result table for one way to end the broker."""
    return {
        "partitions that the broker led": result.led,
        "leaders moved": len(result.moves.ms_without_leader),
        "partitions remaining (ControlledShutdownResponse)": result.end.remaining,
        "attempts of the controlled shutdown": result.end.attempts,
        "ms from the signal to the end of the process": round(result.gone_ms, 1),
        "ms without a leader, median partition": round(result.moves.median_ms, 1),
        "ms without a leader, longest": round(result.moves.longest_ms, 1),
        "ms without an ack, median partition": round(statistics.median(result.silences_ms), 1),
        "ms without an ack, longest": round(max(result.silences_ms), 1),
        "records refused, producers that wait 2 min": result.given_up,
        "records refused, a producer that waits 3 s": result.given_up_after_3_s,
        "of these, while the partition had no leader": result.given_up_without_leader,
        ".kafka_cleanshutdown was written (1: yes)": int(result.clean_file),
        "logs at the next start": result.start.logs,
        "segments recovered at the next start": result.start.recovered_segments,
        "records read again at the next start": result.start.recovered_records,
        "ms until the broker ran again": result.start.startup_ms,
    }


def report_of(outcome: Outcome) -> Report:
    report = Report("shutdown")
    by_name = {each.how: each for each in outcome.rounds}
    sigterm, kill = by_name[SIGTERM], by_name[KILL]
    for each in outcome.rounds:
        for name, value in rows(each).items():
            report.figure(f"{each.how}: {name}", value)
    lost = outcome.found.lost + outcome.found_of_hasty.lost
    report.figure("records sent", outcome.sent)
    report.figure("records acked", outcome.acked)
    report.figure("records consumed", outcome.found.consumed + outcome.found_of_hasty.consumed)
    report.figure("acked records that are lost", lost)
    report.figure(
        "records stored twice under a new epoch, producers that wait 2 min", outcome.found.sent_anew
    )
    report.figure(
        "records stored twice under a new epoch, a producer that waits 3 s",
        outcome.found_of_hasty.sent_anew,
    )
    report.target("SIGTERM: leaders moved", len(sigterm.moves.ms_without_leader), "==", sigterm.led)
    report.target("SIGTERM: partitions remaining", sigterm.end.remaining, "==", 0)
    report.target("SIGTERM: produce requests failed", sigterm.given_up, "==", 0)
    report.target(
        "SIGTERM: records refused to the hasty producer without a leader, compared with kill -9",
        sigterm.given_up_without_leader,
        "<",
        kill.given_up_without_leader,
    )
    report.target(
        "SIGTERM: .kafka_cleanshutdown was written (1: yes)",
        int(sigterm.clean_file and sigterm.end.clean),
        "==",
        1,
    )
    report.target(
        "SIGTERM: segments recovered at the next start", sigterm.start.recovered_segments, "==", 0
    )
    report.target(
        "SIGTERM: logs that were opened without reading records",
        sigterm.start.clean_logs,
        "==",
        sigterm.start.logs,
    )
    report.target(
        "SIGTERM: ms without a leader, longest, compared with kill -9",
        round(sigterm.moves.longest_ms, 1),
        "<",
        round(kill.moves.longest_ms, 1),
    )
    report.target("kill -9: leaders moved", len(kill.moves.ms_without_leader), "==", kill.led)
    report.target(
        "kill -9: .kafka_cleanshutdown was written (1: yes)", int(kill.clean_file), "==", 0
    )
    report.target(
        "kill -9: segments recovered at the next start", kill.start.recovered_segments, ">", 0
    )
    report.target("acked records", outcome.acked, ">", 0)
    report.target("acked records that are lost, in both", lost, "==", 0)
    report.target(
        "records stored twice under one producer epoch",
        outcome.found.duplicates + outcome.found_of_hasty.duplicates,
        "==",
        0,
    )
    return report


def show(outcome: Outcome, console: Console) -> None:
    table = Table(
        "", *(each.how for each in outcome.rounds), title="A broker stops", title_justify="left"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for name in rows(outcome.rounds[0]):
        table.add_row(name, *(number(rows(each)[name]) for each in outcome.rounds))
    console.print(table)


@demo_command("shutdown", figures=False)
@click.option(
    "--partitions",
    type=click.IntRange(3, 3000),
    default=30,
    show_default=True,
    help="Of the topic; the broker leads a third of them.",
)
@click.option(
    "--rate",
    type=click.IntRange(3, 100_000),
    default=900,
    show_default=True,
    help="Records a second, of three producers together.",
)
@zookeeper_option
def shutdown(console: Console, partitions: int, rate: int, zookeeper: str) -> Report:
    """Compare SIGTERM with kill -9: what each of them costs, in one table.

    The exit code is 1 if a target is missed.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-edu-recordings-") as folder:
        recorded = {
            broker: {"edu.record.file": f"{folder}/{broker}.record"} for broker in range(BROKERS)
        }
        props = {"auto.leader.rebalance.enable": "false"}
        with running_cluster(
            "shutdown", brokers=BROKERS, zookeeper=zookeeper, props=props, broker_props=recorded
        ) as cluster:
            outcome = run(Stage(cluster, Path(folder), partitions, rate), console)
    for each in outcome.rounds:
        if each.led == 0:
            raise ClusterError(f"the broker led nothing when it got {each.how}")
    show(outcome, console)
    report = report_of(outcome)
    orderly, killed = outcome.rounds
    report.end(
        happened="A partition of the broker was without a leader for"
        f" {orderly.moves.median_ms:,.0f} ms after SIGTERM and for"
        f" {killed.moves.median_ms:,.0f} ms after kill -9 (median), and no acked record was lost.",
        why="A broker that gets SIGTERM first lets the controller move its leaders, and flushes"
        " its logs. A killed broker is noticed only when its ZooKeeper session expires, and must"
        " recover its logs.",
        look_next=f"Try it yourself with {command_line('cluster stop 1')} and"
        f" {command_line('cluster kill 1')}, while {command_line('dashboard')} is open.",
    )
    return report
