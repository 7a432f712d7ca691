"""The eight rules against loss (book 001), each broken once and kept once, on a live cluster.

    1  look at the result of each record           5  replication.factor >= 3
    2  acks=all                                    6  min.insync.replicas > 1
    3  retries                                     7  replication.factor > min.insync.replicas
    4  unclean.leader.election.enable=false        8  commit what is processed

For each rule the demo causes one fault twice: once with a topic that breaks the rule, and once with
a topic that keeps it. The fault affects chosen records. So a broken rule loses records on
a fast machine and on a slow one. The clients are unmodified. Each record has a number, and at the
end a consumer reads the topic and notes which numbers it finds.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import count
from types import MappingProxyType
from typing import Final, NamedTuple

import click
import confluent_kafka.admin  # noqa: F401 (else a Ctrl-C in list_topics is an ImportError)
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from kafka import KafkaProducer
from kafka.errors import KafkaError as PythonError
from rich.console import Console
from rich.table import Table

from kafka_edu.cli.demo_frame import demo_command, zookeeper_option
from kafka_edu.cli.demo_topic import BROKERS, wait_until_in_sync
from kafka_edu.cli.progress import Progress
from kafka_edu.cli.report import Report
from kafka_edu.clients.admin.new_topic import make_assigned_topic
from kafka_edu.cluster.leader_and_isr import NO_LEADER
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster

from .one_partition import PATIENCE_S, log_end_offset, read_to_the_end, wait_for_leader

RECORDS: Final = 100
TOO_LARGE_EVERY: Final = 5
"""Rule 1: one of five records is larger than the topic's max.message.bytes."""
LARGE: Final = 2_000
MAX_MESSAGE_BYTES: Final = 1_000
DONE_BEFORE_THE_CRASH: Final = 40
"""Rule 8: how many records the consumer has processed when it stops."""
RETRIES: Final = 8
"""Rule 3: the value in the book's example."""
LEADER, ONE, OTHER = 0, 1, 2
"""The ids of the broker that leads each topic at first, and of its followers."""
#: Rule 7: how long a producer tries to send a record, in ms.
GIVE_UP_MS: Final = 5_000
_NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})
#: A follower that does not fetch stays in the ISR for a minute, unless it is stopped cleanly.
PROPS: Final = {
    "auto.leader.rebalance.enable": "false",
    "replica.lag.time.max.ms": "60000",
    "zookeeper.session.timeout.ms": "6000",
}


class Outcome(NamedTuple):
    """The fate of the records of one topic."""

    sent: int
    acked: int
    there: int
    """Number of different records that a consumer found in the end. For rule 8, number of processed
    records.
    """
    lost: int
    """Number of lost records. Each rule says which records count as lost (`Rule.counts`)."""
    note: str = ""


class Stage:
    """The cluster on which the rules are played, with steps that several rules need."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._numbers: Iterator[int] = count(1)

    def topic(self, replicas: Sequence[int], settings: Mapping[str, str] = _NO_SETTINGS) -> str:
        """Create a topic with one partition. The first of `replicas` leads. Return its name.

        Raises ClusterError.
        """
        name = f"rules-{next(self._numbers)}"
        try:
            make_assigned_topic(self.cluster.bootstrap_servers, name, {0: list(replicas)}, settings)
        except KafkaException as error:
            raise ClusterError(f"topic '{name}' cannot be created: {error}") from error
        self.in_sync(name, len(replicas))
        return name

    def in_sync(self, topic: str, replicas: int = BROKERS) -> None:
        """Wait until the topic's replicas are in sync. Raises Standstill."""
        wait_until_in_sync(self.cluster.bootstrap_servers, topic, 1, replicas)

    def leader(self, topic: str, of: Sequence[int]) -> int:
        """Wait until ZooKeeper names one of the brokers in `of` as the leader, and return its id.

        If NO_LEADER is in `of`, the wait also ends when the partition has no leader.

        Raises Standstill.
        """
        return wait_for_leader(
            self.cluster.zookeeper_connect,
            topic,
            lambda leader: leader in of,
            f"one of the brokers {of} to lead {topic}",
        )

    def producer(self, **settings: str | int | bool) -> Producer:
        """Return a producer of librdkafka with these settings.

        In their names, `_` stands for a dot.
        """
        return Producer(
            {
                "bootstrap.servers": self.cluster.bootstrap_servers,
                "log_level": 0,
                "linger.ms": 20,
                **{key.replace("_", "."): value for key, value in settings.items()},
            }
        )

    def stop_all(self, *brokers: int) -> None:
        """Stop brokers cleanly (controlled shutdown): each one first leaves the ISR of its
        partitions.
        """
        for broker in brokers:
            self.cluster.stop(broker)

    def start_all(self, *brokers: int) -> None:
        for broker in brokers:
            self.cluster.start(broker)

    def lose_disk(self, broker: int, topic: str) -> None:
        """Kill a broker, and delete its replica of the topic, as if its disk had failed."""
        folder = self.cluster.replica(broker, topic, 0)
        self.cluster.kill(broker)
        shutil.rmtree(folder)

    def there(self, topic: str) -> set[int]:
        """Read the topic to its end, and return the numbers in its records. Raises Standstill."""
        return {_number(value) for value in read_to_the_end(self.cluster.bootstrap_servers, topic)}


def _number(value: bytes) -> int:
    return int(value.split()[0])


class Sending:
    """Send records. A callback stores which of them are acknowledged and which are refused."""

    def __init__(self, producer: Producer, topic: str, records: int = RECORDS) -> None:
        self.acked: set[int] = set()
        self.refused: dict[int, str] = {}
        self._producer = producer
        for number in range(records):
            producer.produce(topic, b"%d" % number, partition=0, on_delivery=self._answered)

    def _answered(self, error: KafkaError | None, message: Message) -> None:
        number = _number(message.value() or b"")
        if error is None:
            self.acked.add(number)
        else:
            self.refused[number] = error.name()

    def finish(self) -> None:
        """Wait until each record has an answer. Raises ClusterError if one has none."""
        if self._producer.flush(PATIENCE_S):
            raise ClusterError(f"records have no answer after {PATIENCE_S} s")

    def wait_s(self, seconds: float) -> None:
        """Let the producer work for at most `seconds`, or until each record has an answer."""
        self._producer.flush(seconds)

    def outcome(self, stage: Stage, topic: str, note: str = "") -> Outcome:
        """Compare the acknowledged records with those that a consumer finds."""
        there = stage.there(topic)
        sent = len(self.acked) + len(self.refused)
        return Outcome(sent, len(self.acked), len(there), len(self.acked - there), note)


# One function for each rule. `kept` says whether the rule is kept or broken.


def look_at_results(stage: Stage, kept: bool) -> Outcome:
    """Play rule 1: some records are too large for the topic.

    Records that the program does not notice as missing count as lost.
    """
    settings = {"max.message.bytes": str(MAX_MESSAGE_BYTES), "min.insync.replicas": "2"}
    topic = stage.topic((LEADER, ONE, OTHER), settings)
    producer = stage.producer(acks="all", batch_num_messages=1)
    failed: list[int] = []

    def look(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(_number(message.value() or b""))

    for number in range(RECORDS):
        value = b"%d " % number + b"x" * (0 if number % TOO_LARGE_EVERY else LARGE)
        if kept:
            producer.produce(topic, value, partition=0, on_delivery=look)
        else:
            producer.produce(topic, value, partition=0)
    producer.flush(PATIENCE_S)
    for number in list(failed):  # it knows which, and sends them in a form that fits
        producer.produce(topic, b"%d shortened" % number, partition=0)
    producer.flush(PATIENCE_S)
    there = stage.there(topic)
    note = f"{len(failed)} errors seen, and handled" if kept else "no callback: no error is seen"
    return Outcome(RECORDS, len(there), len(there), RECORDS - len(there), note)


def acks_all(stage: Stage, kept: bool) -> Outcome:
    """Play rule 2: the leader is cut off from the other brokers and from ZooKeeper.

    Acknowledged records that are missing count as lost.
    """
    topic = stage.topic((LEADER, ONE, OTHER), {"min.insync.replicas": "2"})
    producer = stage.producer(acks="all" if kept else "1", enable_idempotence=kept)
    producer.list_topics(topic, timeout=PATIENCE_S)
    perform = stage.cluster.perform
    for follower in (ONE, OTHER):
        perform("cut-link", {"broker": LEADER, "other": follower})
    sending = Sending(producer, topic)
    if kept:
        sending.wait_s(2)
    else:
        sending.finish()
    note = f"{len(sending.acked)} acked while the leader was cut off"
    perform("cut-zookeeper", {"broker": LEADER})
    stage.leader(topic, (ONE, OTHER))
    perform("heal-zookeeper", {"broker": LEADER})
    for follower in (ONE, OTHER):
        perform("heal-link", {"broker": LEADER, "other": follower})
    sending.finish()
    stage.in_sync(topic)
    return sending.outcome(stage, topic, note)


def retries(stage: Stage, kept: bool) -> Outcome:
    """Play rule 3: the leadership moves, and the producer does not know that yet.

    Records that were not stored count as lost.
    """
    topic = stage.topic((LEADER, ONE, OTHER), {"min.insync.replicas": "2"})
    stage.stop_all(LEADER)
    stage.leader(topic, (ONE, OTHER))
    stage.start_all(LEADER)
    stage.in_sync(topic)
    producer = KafkaProducer(
        bootstrap_servers=stage.cluster.bootstrap_servers.split(","),
        acks="all",
        retries=RETRIES if kept else 0,
        linger_ms=200,
        enable_idempotence=False,
    )
    acked: set[int] = set()
    with closing(producer):
        producer.partitions_for(topic)
        stage.cluster.perform("elect-preferred", {"partition": f"{topic}-0"})
        stage.leader(topic, (LEADER,))
        sent = [producer.send(topic, b"%d" % number, partition=0) for number in range(RECORDS)]
        producer.flush(PATIENCE_S)
        errors = Counter(
            type(one.exception).__name__ for one in sent if isinstance(one.exception, PythonError)
        )
        acked = {number for number, one in enumerate(sent) if one.succeeded()}
    there = stage.there(topic)
    note = ", ".join(f"{times} {name}" for name, times in errors.items()) or "sent again"
    return Outcome(RECORDS, len(acked), len(there), RECORDS - len(there), note)


def clean_elections(stage: Stage, kept: bool) -> Outcome:
    """Play rule 4: the last member of the ISR dies.

    Acknowledged records that only this broker had count as lost if they are missing at the end.
    """
    settings = {
        "unclean.leader.election.enable": "false" if kept else "true",
        "min.insync.replicas": "1",
    }
    topic = stage.topic((LEADER, ONE, OTHER), settings)
    producer = stage.producer(acks="all")
    stage.stop_all(ONE, OTHER)
    sending = Sending(producer, topic)
    sending.finish()
    stage.cluster.kill(LEADER)
    stage.start_all(ONE, OTHER)
    if kept:
        stage.leader(topic, (NO_LEADER,))
        note = "the partition waits for broker 0"
    else:
        note = f"broker {stage.leader(topic, (ONE, OTHER))} leads, and has none of them"
    stage.start_all(LEADER)
    stage.in_sync(topic)
    return sending.outcome(stage, topic, note)


def three_replicas(stage: Stage, kept: bool) -> Outcome:
    """Play rule 5: a broker's disk fails.

    Acknowledged records that are missing count as lost.
    """
    replicas = (LEADER, ONE, OTHER) if kept else (LEADER,)
    topic = stage.topic(replicas, {"min.insync.replicas": "2" if kept else "1"})
    sending = Sending(stage.producer(acks="all"), topic)
    sending.finish()
    stage.lose_disk(LEADER, topic)
    if kept:
        stage.leader(topic, (ONE, OTHER))
    stage.start_all(LEADER)
    stage.in_sync(topic, len(replicas))
    return sending.outcome(stage, topic, f"replication factor {len(replicas)}")


def two_in_sync(stage: Stage, kept: bool) -> Outcome:
    """Play rule 6: the followers are stopped, and then the leader's disk fails.

    Acknowledged records that are missing count as lost.
    """
    topic = stage.topic((LEADER, ONE, OTHER), {"min.insync.replicas": "2" if kept else "1"})
    producer = stage.producer(acks="all")
    stage.stop_all(ONE, OTHER)
    sending = Sending(producer, topic)
    if kept:
        sending.wait_s(2)
        note = f"{len(sending.acked)} acked by the leader alone"
        stage.start_all(ONE)
        sending.finish()
        stage.lose_disk(LEADER, topic)
        stage.leader(topic, (ONE,))
        stage.start_all(LEADER, OTHER)
    else:
        sending.finish()
        note = f"{len(sending.acked)} acked by the leader alone"
        stage.lose_disk(LEADER, topic)
        stage.start_all(ONE, OTHER, LEADER)
    stage.in_sync(topic)
    return sending.outcome(stage, topic, note)


def one_may_be_away(stage: Stage, kept: bool) -> Outcome:
    """Play rule 7: one broker is stopped.

    Records that could not be written count as lost.
    """
    topic = stage.topic((LEADER, ONE, OTHER), {"min.insync.replicas": "2" if kept else "3"})
    producer = stage.producer(acks="all", message_timeout_ms=GIVE_UP_MS)
    stage.stop_all(OTHER)
    sending = Sending(producer, topic)
    sending.finish()
    stage.start_all(OTHER)
    stage.in_sync(topic)
    there = stage.there(topic)
    note = f"replication factor 3, min.insync.replicas {2 if kept else 3}"
    return Outcome(RECORDS, len(sending.acked), len(there), RECORDS - len(sending.acked), note)


def commit_afterwards(stage: Stage, kept: bool) -> Outcome:
    """Play rule 8: a consumer stops in the middle of its work.

    Records that are never processed count as lost.
    """
    topic = stage.topic((LEADER, ONE, OTHER), {"min.insync.replicas": "2"})
    sending = Sending(stage.producer(acks="all"), topic)
    sending.finish()
    processed: Counter[int] = Counter()
    _work(stage, topic, processed, commit_first=not kept, crash_after=DONE_BEFORE_THE_CRASH)
    _work(stage, topic, processed, commit_first=not kept, crash_after=None)
    twice = sum(1 for times in processed.values() if times > 1)
    note = f"{twice} processed twice"
    return Outcome(RECORDS, len(sending.acked), len(processed), RECORDS - len(processed), note)


def _work(
    stage: Stage,
    topic: str,
    processed: Counter[int],
    *,
    commit_first: bool,
    crash_after: int | None,
) -> None:
    """Process the topic as a member of a group, from the committed offset to the end.

    If `crash_after` is set, the consumer fetches all records, but stops after it has processed
    `crash_after` records.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": stage.cluster.bootstrap_servers,
            "group.id": f"{topic}-workers",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    with closing(consumer):
        consumer.subscribe([topic])
        end = log_end_offset(consumer, topic)
        progress = Progress(f"the records of {topic} to be processed")
        taken: list[Message] = []
        while not consumer.assignment():
            progress.note("no partition")
            taken += [one for one in consumer.consume(1, timeout=0.5) if one.error() is None]
        [partition] = consumer.committed(consumer.assignment(), timeout=PATIENCE_S)
        wanted = end - max(partition.offset, 0)
        while len(taken) < wanted:
            progress.note(len(taken))
            taken += [one for one in consumer.consume(wanted, timeout=0.5) if one.error() is None]
        done = TopicPartition(topic, 0, end)
        if commit_first:
            consumer.commit(offsets=[done], asynchronous=False)
        for message in taken[:crash_after]:
            processed[_number(message.value() or b"")] += 1
        if not commit_first and crash_after is None:
            consumer.commit(offsets=[done], asynchronous=False)


class Rule(NamedTuple):
    """One rule of the book."""

    says: str
    counts: str
    """The records that count as lost."""
    play: Callable[[Stage, bool], Outcome]
    broken: int
    """Number of records that must be lost when the rule is broken."""


RULES: Final = (
    Rule("check the result of each record", "sent, not stored, unnoticed", look_at_results,
         RECORDS // TOO_LARGE_EVERY),
    Rule("acks=all", "acked, not stored", acks_all, RECORDS),
    Rule("retries > 0", "sent, not stored", retries, RECORDS),
    Rule("unclean.leader.election.enable=false", "acked, not stored", clean_elections, RECORDS),
    Rule("replication.factor >= 3", "acked, not stored", three_replicas, RECORDS),
    Rule("min.insync.replicas > 1", "acked, not stored", two_in_sync, RECORDS),
    Rule("replication.factor > min.insync.replicas", "sent, could not be written",
         one_may_be_away, RECORDS),
    Rule("commit what is processed", "committed, not processed", commit_afterwards,
         RECORDS - DONE_BEFORE_THE_CRASH),
)  # fmt: skip


class Both(NamedTuple):
    """The outcomes of one rule: broken and kept."""

    number: int
    rule: Rule
    broken: Outcome
    kept: Outcome


def run(cluster: Cluster, numbers: Sequence[int], console: Console) -> list[Both]:
    """Play the rules with these numbers one after another, each broken and then kept."""
    stage = Stage(cluster)
    played = []
    for number in numbers:
        rule = RULES[number - 1]
        broken, kept = (rule.play(stage, keep) for keep in (False, True))
        played.append(Both(number, rule, broken, kept))
        console.print(
            f"[green]●[/] {number}. {rule.says}: broken, {broken.lost} of {broken.sent} records"
            f" are lost ({broken.note}); kept, {kept.lost} ({kept.note})",
            soft_wrap=True,
        )
    return played


def show(played: Sequence[Both], console: Console) -> None:
    shown = Table("rule", "lost are records", title="The eight rules against loss")
    for head in ("broken", "kept"):
        shown.add_column(head, justify="right")
    for one in played:
        shown.add_row(
            f"{one.number}. {one.rule.says}",
            one.rule.counts,
            f"{one.broken.lost} of {one.broken.sent}",
            f"{one.kept.lost} of {one.kept.sent}",
        )
    console.print(shown)


def report_of(played: Sequence[Both]) -> Report:
    report = Report("eight-rules")
    for one in played:
        for name, outcome in (("broken", one.broken), ("kept", one.kept)):
            report.figure(f"rule {one.number} {name}", outcome._asdict())
        report.target(f"rule {one.number} broken: lost", one.broken.lost, "==", one.rule.broken)
        report.target(f"rule {one.number} kept: lost", one.kept.lost, "==", 0)
    lost = sum(one.broken.lost for one in played)
    report.end(
        happened=f"{len(played)} rules were broken, and {lost} records were lost. When the rules"
        " were kept, with the same faults, no record was lost.",
        why="Kafka keeps a committed record as long as one replica lives that has it. The rules"
        " say when a record is committed, on how many replicas, and what the client has to check.",
        look_next="Read chapter 10, section 8, and kill brokers under load:"
        f" {command_line('demo kills')}.",
    )
    return report


@demo_command("eight-rules", figures=False)
@click.option(
    "--rule",
    "rules",
    type=click.IntRange(1, len(RULES)),
    multiple=True,
    help="Only this rule; may be repeated.",
)
@zookeeper_option
def eight_rules(console: Console, rules: tuple[int, ...], zookeeper: str) -> Report:
    """For each of the eight rules against loss, break the rule and then keep it, and count the
    records that are lost each time.

    Exits with 1 when a target is missed.
    """
    numbers = sorted({*rules}) or range(1, len(RULES) + 1)
    with running_cluster(
        "eight-rules", brokers=BROKERS, props=PROPS, zookeeper=zookeeper, with_relays=True
    ) as cluster:
        played = run(cluster, numbers, console)
    show(played, console)
    return report_of(played)
