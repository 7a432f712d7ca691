"""Exactly once under kill -9, with two applications that consume, transform and produce.

The applications work in transactions while the applications, their coordinators and leaders are
killed. Numbered records go into one topic. One application uses confluent-kafka, the other the Java
client. Each turns every input record into one output record in its own topic, and commits its
position in the input in the same transaction. Applications are killed in the middle of transactions
and started again. The same happens to the broker that coordinates their transactions, to the broker
that coordinates their groups, and to leaders of the output. At the end a read_committed reader must
find each record of the input topic exactly once. The table also shows what a read_uncommitted
reader finds.
"""

import contextlib
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.cimpl import TopicPartition
from rich.console import Console

from kafka_edu.cli.demo_frame import demo_command, wait_until, zookeeper_option
from kafka_edu.cli.demo_topic import (
    ANSWER_MS,
    BROKERS,
    NO_LEADER,
    create_topic,
    demo_admin,
    leaders_of,
    wait_until_in_sync,
)
from kafka_edu.cli.progress import Progress, Standstill
from kafka_edu.cli.report import Report
from kafka_edu.clients.blocking import Admin
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.common.maven_jars import PeerMissing, compiled, maven_jars
from kafka_edu.common.python_process import command_line, python_command, python_environment
from kafka_edu.common.topic import GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition as OurPartition
from kafka_edu.coordinator.coordinator_type import partition_for
from kafka_edu.protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ..demo_parts.numbered_clients import ConfluentProducer

INPUT: Final = "in"
PARTITIONS: Final = 6
RECORD_BYTES: Final = 40
PAUSE_MS: Final = 150
"""The minimum time in ms that each transaction stays open, so that a kill can interrupt one."""
JAVA_CLIENT: Final = "3.9.1"
WARM_UP_S: Final = 6.0
DOWN_S: Final = 2.0
OPEN_TRANSACTION_TIMEOUT_S: Final = 5.0
_RESTART_S: Final = 0.2
_LOOK_EVERY_S: Final = 0.1
#: The kills in their order, spread over the time of the run.
STORY: Final = (
    "applications",
    "transaction coordinator",
    "applications",
    "leader",
    "group coordinator",
    "applications",
    "transaction coordinator",
)


class Application:
    """One process that is started again whenever it ends, until `stop` is called."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.topic = f"out-{name}"
        self.kills = 0
        self.ends: list[str] = []
        """The error messages with which the process ended by itself, for example a fencing."""
        self._command = command
        self._stopping = threading.Event()
        self._process = self._spawn()
        self._keeper = threading.Thread(target=self._keep, name=f"keeper of {name}", daemon=True)
        self._keeper.start()

    def _spawn(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._command,
            env=python_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _keep(self) -> None:
        while True:
            said = self._process.communicate()[1]
            if self._stopping.is_set():
                return
            if self._process.returncode > 0:
                self.ends.append(said.strip().rpartition("\n")[2])
            time.sleep(
                _RESTART_S
            )  # an application that cannot start must not keep the machine busy with restarts
            self._process = self._spawn()
            if self._stopping.is_set():
                self._process.kill()

    def kill(self) -> None:
        """Kill the process with -9."""
        self.kills += 1
        self._process.kill()

    def stop(self) -> None:
        self._stopping.set()
        self._process.kill()
        self._keeper.join()


class Counted(NamedTuple):
    """The fate of the input records in one application's output."""

    application: str
    committed: int
    """The number of records that a read_committed reader finds."""
    lost: int
    """The number of input records that a read_committed reader does not find."""
    duplicates: int
    """The number of surplus records that a read_committed reader finds.

    Exactly one is expected for each input record.
    """
    uncommitted: int
    """The number of records that a read_uncommitted reader finds."""
    application_kills: int
    own_ends: int
    """How often the application ended by itself with an error."""


class Outcome(NamedTuple):
    inputs: int
    """The number of records in the input topic.

    Its producer may have stored a record twice under a new epoch (see `stored_records`). These
    count as two records.
    """
    acked: int
    acked_but_lost: int
    refused: int
    broker_kills: Counter[str]
    counted: list[Counted]


def read_all(servers: str, topic: str, isolation_level: str) -> list[bytes]:
    """Return the value of every record up to the end, as this isolation level shows them.

    Raises Standstill if no more records come before the end is reached.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "counter",
            "isolation.level": isolation_level,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        values: list[bytes] = []
        ended: set[int | None] = set()
        progress = Progress(f"the end of {topic} ({isolation_level})")
        while len(ended) < PARTITIONS:
            progress.note(f"{len(values):,} records read, {len(ended)} of {PARTITIONS} partitions")
            for message in consumer.consume(5_000, 0.2):
                error, value = message.error(), message.value()
                if error is None and value is not None:
                    values.append(value)
                    ended.discard(message.partition())
                elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
        return values
    finally:
        consumer.close()


def count(application: Application, servers: str, inputs: Counter[bytes]) -> Counted:
    """Compare an application's output with the values of the input topic."""
    committed = Counter(read_all(servers, application.topic, "read_committed"))
    uncommitted = len(read_all(servers, application.topic, "read_uncommitted"))
    lost, duplicates = (inputs - committed).total(), (committed - inputs).total()
    return Counted(
        application.name,
        committed.total(),
        lost,
        duplicates,
        uncommitted,
        application.kills,
        len(application.ends),
    )


def java_application(servers: str) -> list[str]:
    """Return the command that runs Transform.java.

    Raises PeerMissing if Java, its compiler, or Maven is missing.
    """
    jars = maven_jars(
        f"java-clients-{JAVA_CLIENT}",
        [f"org.apache.kafka:kafka-clients:{JAVA_CLIENT}", "org.slf4j:slf4j-nop:1.7.36"],
    )
    classes = compiled(Path(__file__).parent / "java" / "Transform.java", jars)
    java = [
        "java",
        "-XX:TieredStopAtLevel=1",
        "-Xmx128m",
        "-cp",
        f"{classes}:{jars}/*",
        "Transform",
    ]
    return [*java, servers, INPUT, "out-java", "java", str(PAUSE_MS)]


def applications(servers: str, console: Console) -> list[Application]:
    """Return one application for each client that can run on this machine."""
    module = python_command(
        f"{__package__}.transform_app",
        servers,
        INPUT,
        "out-confluent-kafka",
        "confluent-kafka",
        str(PAUSE_MS),
    )
    found = [Application("confluent-kafka", module)]
    try:
        found.append(Application("java", java_application(servers)))
    except PeerMissing as missing:
        console.print(f"[yellow]confluent-kafka alone, without the Java client:[/] {missing}")
    return found


def end_of(admin: Admin, topic: str, *, read_committed: bool) -> int:
    """Return the sum of the end offsets of all partitions, as this isolation level shows them."""
    places = {OurPartition(topic, partition): LATEST_TIMESTAMP for partition in range(PARTITIONS)}
    found = admin.list_offsets(places, read_committed=read_committed, timeout_ms=ANSWER_MS)
    return sum(end.offset for end in found.all().values())


def wait_for_open_transaction(servers: str, topic: str) -> None:
    """Wait until a transaction has written to `topic` and is still open.

    Return after 5 s even if there is none, for example while the application is fenced.
    """
    end = time.monotonic() + OPEN_TRANSACTION_TIMEOUT_S
    with contextlib.suppress(ClientException), demo_admin(servers) as admin:
        while time.monotonic() < end:
            if end_of(admin, topic, read_committed=True) < end_of(
                admin, topic, read_committed=False
            ):
                return


def victim_of(act: str, servers: str, application: Application) -> int:
    """Return the id of the broker to kill, as soon as it is known.

    Raises Standstill if the id does not become known.
    """
    topic, key = {
        "transaction coordinator": (TRANSACTION_STATE_TOPIC_NAME, application.name),
        "group coordinator": (GROUP_METADATA_TOPIC_NAME, application.name),
        "leader": (application.topic, None),
    }[act]
    progress = Progress(f"a leader of {topic}: the {act} of {application.name} is not known")
    leaders: dict[int, int] = {}
    with demo_admin(servers) as admin:
        while True:
            progress.note(f"leaders {leaders}")
            with contextlib.suppress(
                ClientException
            ):  # a broker is dying: the next look asks again
                leaders = leaders_of(admin, topic)
                partition = 0 if key is None else partition_for(key, len(leaders))
                if leaders and leaders[partition] != NO_LEADER:
                    return leaders[partition]
            time.sleep(_LOOK_EVERY_S)


def kill_and_restart(
    act: str, cluster: Cluster, application: Application, console: Console
) -> None:
    cluster.wait_ready()
    wait_until_in_sync(cluster.bootstrap_servers, application.topic, PARTITIONS)
    victim = victim_of(act, cluster.bootstrap_servers, application)
    cluster.kill(victim)
    console.print(
        f"[red]✕[/] kill -9: broker {victim}, the {act} of {application.name}; back in"
        f" {DOWN_S:g} s",
        soft_wrap=True,
    )
    time.sleep(DOWN_S)  # its clients notice this absence, but ZooKeeper does not yet
    cluster.start(victim)


def run(cluster: Cluster, seconds: float, rate: int, console: Console) -> Outcome:
    """Run the kills one after another within `seconds`. It takes longer if replicas catch up
    slowly.
    """
    servers = cluster.bootstrap_servers
    for topic in (INPUT, "out-confluent-kafka", "out-java"):
        create_topic(servers, topic, PARTITIONS)
    running = applications(servers, console)
    killed: Counter[str] = Counter()
    try:
        source = ConfluentProducer(servers, INPUT, PARTITIONS, rate, RECORD_BYTES)
        source.start()
        began = time.monotonic()
        for i, act in enumerate(STORY):
            wait_until(began + WARM_UP_S + i * (seconds - WARM_UP_S) / len(STORY))
            if act == "applications":
                for application in running:
                    wait_for_open_transaction(servers, application.topic)
                    application.kill()
                console.print(
                    "[red]✕[/] kill -9:"
                    f" {' and '.join(application.name for application in running)}"
                )
            else:
                kill_and_restart(act, cluster, running[i % len(running)], console)
                killed[act] += 1
        wait_until(began + seconds)
        source.finish()
        told = (
            f"{len(source.acked):,} input records in {time.monotonic() - began:.0f} s; the"
            " applications turn what is left"
        )
        console.print(f"[green]●[/] {told}", soft_wrap=True)
        wait_until_drained(running, servers)
    finally:
        for application in running:
            application.stop()
    inputs = Counter(read_all(servers, INPUT, "read_uncommitted"))
    acked = {place.value(RECORD_BYTES) for place in source.acked}
    counted = [count(application, servers, inputs) for application in running]
    return Outcome(
        inputs.total(), len(acked), len(acked - inputs.keys()), len(source.refused), killed, counted
    )


def wait_until_drained(running: Sequence[Application], servers: str) -> None:
    """Wait until each application has committed the end of the input.

    Stop waiting if an application commits no more: the missing records then count as lost.
    """
    for application in running:
        client = Consumer(
            {"bootstrap.servers": servers, "group.id": application.name, "log_level": 0}
        )
        try:
            places = [TopicPartition(INPUT, partition) for partition in range(PARTITIONS)]
            ends: dict[int, int] = {}
            committed: dict[int, int] = {}
            progress = Progress(f"{application.name} to commit the end of {INPUT}")
            while not ends or committed != ends:
                try:
                    progress.note(committed)
                except Standstill:
                    break
                with contextlib.suppress(
                    KafkaException
                ):  # a leader has just changed, or offsets of an open transaction are missing
                    ends = ends or {
                        place.partition: client.get_watermark_offsets(place, timeout=10)[1]
                        for place in places
                    }
                    committed = {
                        place.partition: place.offset
                        for place in client.committed(places, timeout=10)
                    }
                time.sleep(_LOOK_EVERY_S)
        finally:
            client.close()
    wait_until_in_sync(servers, INPUT, PARTITIONS)


def report_of(outcome: Outcome) -> Report:
    report = Report("transactions")
    report.figure("input records", outcome.inputs)
    report.figure("input records acked", outcome.acked)
    report.figure("input records refused", outcome.refused)
    for act, kills in outcome.broker_kills.items():
        report.figure(f"brokers killed as {act}", kills)
    for counted in outcome.counted:
        name = counted.application
        report.figure(f"{name}: times killed", counted.application_kills)
        report.figure(f"{name}: times it ended with an error, without a kill", counted.own_ends)
        report.figure(f"{name}: records for read_committed", counted.committed)
        report.figure(f"{name}: records for read_uncommitted", counted.uncommitted)
        report.figure(
            f"{name}: of these, of aborted transactions", counted.uncommitted - counted.committed
        )
    report.target("input records", outcome.inputs, ">", 0)
    report.target("input records acked and lost", outcome.acked_but_lost, "==", 0)
    report.target(
        "brokers killed",
        outcome.broker_kills.total(),
        "==",
        len([act for act in STORY if act != "applications"]),
    )
    for counted in outcome.counted:
        report.target(f"{counted.application}: input records lost", counted.lost, "==", 0)
        report.target(
            f"{counted.application}: input records counted twice", counted.duplicates, "==", 0
        )
        report.target(
            f"{counted.application}: records for read_committed",
            counted.committed,
            "==",
            outcome.inputs,
        )
    return report


@demo_command("transactions")
@click.option(
    "--seconds",
    type=click.FloatRange(20),
    default=60.0,
    show_default=True,
    help="The shortest time to produce input, in seconds.",
)
@click.option(
    "--rate",
    type=click.IntRange(1, 100_000),
    default=500,
    show_default=True,
    help="Input records a second.",
)
@zookeeper_option
def transactions(console: Console, seconds: float, rate: int, zookeeper: str) -> Report:
    """Consume, transform and produce in transactions while applications and brokers are killed.

    Coordinators and leaders are among these brokers. Each input record must count exactly once. The
    demo uses confluent-kafka, and the Java client if Java and Maven are installed. The exit code is
    1 if a target is missed.
    """
    with running_cluster(
        "transactions",
        brokers=BROKERS,
        zookeeper=zookeeper,
        props={"group.initial.rebalance.delay.ms": "0"},
    ) as cluster:
        outcome = run(cluster, seconds, rate, console)
    report = report_of(outcome)
    kills = outcome.broker_kills.total() + sum(each.application_kills for each in outcome.counted)
    report.end(
        happened=f"Brokers and applications were killed {kills} times, and each of the"
        f" {outcome.inputs:,} input records counts exactly once in every output.",
        why="An application writes its output and its input offsets in one transaction, and the"
        " coordinator commits or aborts both together.",
        look_next="See how a single leader change looks from inside with"
        f" {command_line('demo chain')}.",
    )
    return report
