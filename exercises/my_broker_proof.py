"""Prove the learner's own broker (`lab my-broker --prove`).

An unmodified producer and consumer work while the controller is killed with kill -9. No record may
be lost, and a broker has to stop in order. The speed is compared with that of the course's own
broker.
"""

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from kafka_edu.cli.report import Report
from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.clients.load.load import Load, LoadSpec
from kafka_edu.clients.load.load_clients import unmodified_clients
from kafka_edu.common.time import SystemTime
from kafka_edu.learner.lab_partitions import LAB_TOPICS
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.trace.event import Source, SourceKind
from kafka_edu.trace.events.learner import LearnerFailed, LearnerSampled, LearnerServed
from kafka_edu.trace.events.log import LogCleaned
from kafka_edu.trace.tracer import Tracer

from .lab_cluster import MOVE_ORDER, order_move, zookeeper_of
from .learner_broker import Listener
from .my_broker import BROKERS, Part, wish_of
from .runner.topics import make_topic as make_assigned

TOPIC: Final = f"{LAB_TOPICS}mine"
MOVED: Final = f"{LAB_TOPICS}moved"
PARTED: Final = f"{LAB_TOPICS}parted"
SMALL: Final = f"{LAB_TOPICS}small"
SMALL_CONFIG: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": "4000",
    "min.cleanable.dirty.ratio": "0.01",
}
KEYED: Final = 200
"""The number of records that are written to the topic SMALL."""
PROPS: Final = {"log.cleaner.backoff.ms": "1000"}
LONELY: Final = 0
"""The broker that leads the topic PARTED. It writes a record that no follower gets."""
FOLLOWERS: Final = (1, 2)
PARTITIONS: Final = 3
RATE: Final = 100
BEFORE_S: Final = 4.0
AFTER_S: Final = 12.0
"""The seconds after the kill. A ZooKeeper session of 6 s ends in this time."""
ONE_BY_ONE: Final = 200
MANY: Final = 100_000
RECORD: Final = b"x" * 100
REPEATS: Final = 3
FLUSH_S: Final = 120
MEGABYTE: Final = 2**20


class Speed(NamedTuple):
    """The measured speed of one cluster."""

    median_ms: float
    """The median time in ms from sending one record with acks=all to its acknowledgement."""
    p99_ms: float
    per_s: float
    """Acknowledged records per second, when many are sent at once."""


def prove(parts: Sequence[Part], say: Callable[[str], None]) -> Report:
    """Measure the speed of the course's own cluster and of the learner's cluster, in turn. Then
    test the learner's cluster. Raises ClusterError.
    """
    report = Report("my-broker")
    mine = [part.exercise.id for part in parts if part.mine]
    report.figure("parts of yours", ", ".join(mine))
    found: dict[str, list[Speed]] = {"ours": [], "yours": []}
    for number in range(1, REPEATS + 1):
        for who, speeds in found.items():
            say(f"{number} of {REPEATS}: {who}: how fast")
            with _cluster(parts if who == "yours" else ()) as cluster:
                speeds.append(_speed(cluster))
    for who, speeds in found.items():
        report.figure(f"{who}: a record acked, median ms", _median(speeds, 0))
        report.figure(f"{who}: a record acked, p99 ms", _median(speeds, 1))
        report.figure(f"{who}: records a second", _median(speeds, 2))
    report.figure("time of a record, yours / ours", _ratio(found, 0))
    report.figure("records a second, yours / ours", _ratio(found, 2))
    with _cluster(parts) as cluster, ExitStack() as stack:
        listeners = [Listener(cluster.events_address(broker)) for broker in BROKERS]
        for listener in listeners:
            stack.callback(listener.close)
        memory = _learner_memory(cluster)
        say("a partition moves")
        _move(cluster)
        say("a leader dies with records that no other broker got, and comes back")
        _part(cluster)
        say("an unmodified consumer names its rack")
        _read_in_rack(cluster)
        again = Listener(cluster.events_address(LONELY), since_us=0)
        stack.callback(again.close)
        listeners.append(again)
        say("a transaction is aborted, and read")
        _transact(cluster)
        say("a log is compacted, and read from its beginning")
        _compact(cluster, listeners)
        say("an unmodified producer and consumer, and kill -9 of the controller")
        _kill_and_count(cluster, report)
        say("the new controller is stopped in order")
        cluster.stop(cluster.wait_ready())
        _judge(report, listeners, mine)
    if memory is not None:
        report.figure("RssAnon of your processes, a broker, MB", memory / MEGABYTE)
    return report


@contextmanager
def _cluster(parts: Sequence[Part]) -> Iterator[Cluster]:
    with running_cluster(
        "my-broker-proof", props=PROPS, broker_props=wish_of(parts).broker_props
    ) as cluster:
        make_topic(cluster.bootstrap_servers, TOPIC, PARTITIONS, 3, {"min.insync.replicas": "2"})
        yield cluster


def _speed(cluster: Cluster) -> Speed:
    servers = {"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"}
    one = Producer(servers | {"linger.ms": 0})
    times = []
    for _ in range(ONE_BY_ONE):
        began = time.perf_counter()
        one.produce(TOPIC, RECORD)
        one.flush(FLUSH_S)
        times.append((time.perf_counter() - began) * 1000)
    many = Producer(servers | {"linger.ms": 5})
    acked = 0

    def delivered(error: object, _: object) -> None:
        nonlocal acked
        acked += error is None

    began = time.perf_counter()
    for number in range(MANY):
        many.produce(TOPIC, RECORD, on_delivery=delivered)
        if number % 500 == 0:
            many.poll(0)
    many.flush(FLUSH_S)
    seconds = time.perf_counter() - began
    if acked < MANY:
        raise ClusterError(f"only {acked:,} of {MANY:,} records were acked")
    times.sort()
    return Speed(statistics.median(times), times[int(len(times) * 0.99)], MANY / seconds)


def _median(speeds: Sequence[Speed], field: int) -> float:
    return statistics.median(speed[field] for speed in speeds)


def _ratio(found: dict[str, list[Speed]], field: int) -> float:
    return _median(found["yours"], field) / _median(found["ours"], field)


def _move(cluster: Cluster) -> None:
    """Move a partition to other brokers, and wait until the move is finished. Raises
    ClusterError.
    """
    make_assigned(cluster, MOVED, [0, 1])
    order_move(cluster, MOVED, [1, 2])
    end = time.monotonic() + FLUSH_S
    with zookeeper_of(cluster) as zookeeper:
        while zookeeper.exists(MOVE_ORDER):
            if time.monotonic() > end:
                raise ClusterError(f"{MOVED}-0 does not come to brokers 1 and 2")
            time.sleep(0.1)


def _part(cluster: Cluster) -> None:
    """Make the logs of two brokers differ, so that broker 0 has to cut its log. Raises
    ClusterError.

    Broker 0 writes a record that its followers do not get, and is killed. A different broker
    becomes leader and writes a record. Then broker 0 starts again, as a follower.
    """
    make_assigned(cluster, PARTED, [LONELY, *FOLLOWERS])
    servers = {"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0}
    everybody = Producer(servers | {"enable.idempotence": True})  # with acks=all
    alone = Producer(servers | {"acks": 1})
    for producer in (everybody, alone):
        _write(producer)
    for follower in FOLLOWERS:
        cluster.pause(follower)
    _write(alone)
    cluster.kill(LONELY)
    for follower in FOLLOWERS:
        cluster.resume(follower)
    _write(everybody)
    cluster.start(LONELY)


def _write(producer: Producer) -> None:
    """Write a record to the topic PARTED. Raises ClusterError if it is not acknowledged."""
    producer.produce(PARTED, RECORD, partition=0)
    if producer.flush(FLUSH_S):
        raise ClusterError(f"a record of {PARTED}-0 is not acknowledged")


def _compact(cluster: Cluster, listeners: Sequence[Listener]) -> None:
    """Compact a log, and read its first record. For this, the broker has to look up an offset in a
    compacted segment. Raises ClusterError.
    """
    make_assigned(cluster, SMALL, FOLLOWERS, configs=SMALL_CONFIG)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0})
    for number in range(KEYED):
        producer.produce(SMALL, RECORD, key=b"key-%d" % (number % 5), partition=0)
        if producer.flush(FLUSH_S):
            raise ClusterError(f"a record of {SMALL}-0 is not acknowledged")
    leader = listeners[FOLLOWERS[0]]

    def is_compacted() -> bool:
        events = leader.events()
        return any(isinstance(event, LogCleaned) and event.topic == SMALL for event in events)

    if not leader.wait_for(is_compacted, FLUSH_S):
        raise ClusterError(f"{SMALL}-0 is not compacted")
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "my-broker-small"}
    )
    try:
        consumer.assign([TopicPartition(SMALL, 0, 0)])
        if consumer.poll(FLUSH_S) is None:
            raise ClusterError(f"{SMALL}-0 cannot be read")
    finally:
        consumer.close()


def _read_in_rack(cluster: Cluster) -> None:
    """Read a record of the topic PARTED with a consumer that names its rack. Raises ClusterError.

    So the leader has to choose the replica from which the consumer reads. No broker has a rack, so
    the leader chooses itself.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "unused",
            "client.rack": "a",
            "log_level": 0,
        }
    )
    with closing(consumer):
        consumer.assign([TopicPartition(PARTED, 0, 0)])
        end = time.monotonic() + FLUSH_S
        while not any(one.error() is None for one in consumer.consume(1, timeout=1.0)):
            if time.monotonic() > end:
                raise ClusterError(f"no record of {PARTED}-0 can be read")


def _transact(cluster: Cluster) -> None:
    """Abort a transaction that has a record of the topic PARTED, and commit a second transaction.
    Read the topic with read_committed. Raises ClusterError if that does not return exactly the
    committed record.
    """
    servers = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    producer = Producer(servers | {"transactional.id": "my-broker"})
    try:
        producer.init_transactions(FLUSH_S)
        for value in (b"aborted", b"committed"):
            producer.begin_transaction()
            producer.produce(PARTED, value, partition=0)
            producer.flush(FLUSH_S)
            if value == b"aborted":
                producer.abort_transaction(FLUSH_S)
            else:
                producer.commit_transaction(FLUSH_S)
    except KafkaException as error:
        raise ClusterError(f"a transaction in {PARTED}-0 failed: {error}") from error
    consumer = Consumer(servers | {"group.id": "unused", "isolation.level": "read_committed"})
    with closing(consumer):
        consumer.assign([TopicPartition(PARTED, 0, 0)])
        end = time.monotonic() + FLUSH_S
        read: list[bytes | None] = []
        while b"committed" not in read and time.monotonic() < end:
            read += [one.value() for one in consumer.consume(9, 1.0)]
        if b"committed" not in read or b"aborted" in read:
            raise ClusterError(f"{PARTED}-0 is not read as it was committed")


def _kill_and_count(cluster: Cluster, report: Report) -> None:
    controller = cluster.wait_ready()
    clock = SystemTime()
    spec = LoadSpec(topic=TOPIC, rate=RATE, group="my-broker")
    clients = unmodified_clients(spec, cluster.bootstrap_servers, clock)
    load = Load(spec, clients, Tracer(Source(SourceKind.CLIENT, 1), clock))
    load.start()
    _run(load, BEFORE_S)
    cluster.kill(controller)
    _run(load, AFTER_S)
    after = cluster.wait_ready()
    state = asyncio.run(load.finish())
    report.figure("records sent", state.sent)
    report.target("records acked", state.acked, ">=", 1)
    report.target("acked records that were lost", state.lost, "==", 0)
    report.target("acked records that were not read", load.unread, "==", 0)
    report.target("another controller was elected", int(after not in (-1, controller)), "==", 1)


def _run(load: Load, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        load.tick()
        time.sleep(0.05)


def _judge(report: Report, listeners: Sequence[Listener], mine: Sequence[str]) -> None:
    """Add to the report how often each of the learner's parts was called, and how many calls
    failed.
    """
    failed = sum(listener.count(LearnerFailed) for listener in listeners)
    report.target("errors of your parts", failed, "==", 0)
    for exercise in mine:
        asked = sum(
            max(
                (
                    event.total.calls
                    for event in listener.events()
                    if isinstance(event, LearnerSampled | LearnerServed)
                    and event.exercise == exercise
                ),
                default=0,
            )
            for listener in listeners
        )
        report.target(f"{exercise} was asked", asked, ">=", 1)


def _learner_memory(cluster: Cluster) -> int | None:
    """Return the anonymous memory, in bytes, of the learner's processes of one broker.

    Of all brokers, the one with the largest sum counts. None if the system does not show the
    memory.
    """
    sums: dict[int, int] = {cluster.pid(broker): 0 for broker in BROKERS}
    try:
        for status in Path("/proc").glob("[0-9]*/status"):
            fields = dict(
                line.split(":", 1) for line in status.read_text().splitlines() if ":" in line
            )
            parent = int(fields["PPid"])
            if parent in sums and "RssAnon" in fields:
                sums[parent] += int(fields["RssAnon"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    return max(sums.values()) or None
