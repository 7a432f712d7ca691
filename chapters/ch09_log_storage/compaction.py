"""Compact a topic under load, and check that each key keeps its last value.

A load writes records with few different keys for some seconds. Then the cleaners of three brokers
remove each record whose key occurs again later (docs/compaction.md; spec S4).

A producer of librdkafka writes records with random keys, and deletes some keys by tombstones. A
second producer writes in transactions. It commits and aborts them in turn. At first
`min.cleanable.dirty.ratio` is 1, so nothing is compacted. Then it is lowered while the load
continues, and at the end a consumer reads the topic from its beginning. Each record must be at the
offset where it was acked, and each key must have its last value.
"""

import random
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import click
from confluent_kafka import (
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from kafka_edu.cli.demo_frame import demo_command, zookeeper_option
from kafka_edu.cli.demo_topic import BROKERS, create_topic, wait_until_in_sync
from kafka_edu.cli.progress import wait_while_moving
from kafka_edu.cli.report import Report
from kafka_edu.clients.admin.config_calls import AlterConfigOp, ConfigResource
from kafka_edu.clients.blocking import Admin
from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.python_process import command_line
from kafka_edu.common.topic_partition import TopicPartition as Ours
from kafka_edu.log.checkpoint_file import CorruptCheckpointError
from kafka_edu.log.offset_checkpoint_file import CLEANER_OFFSET_FILE, OffsetCheckpointFile
from kafka_edu.protocol.messages.describe_configs import ResourceType
from kafka_edu.protocol.messages.incremental_alter_configs import OpType
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.trace.events.log import LogCleaned, SegmentsCleaned
from kafka_edu.trace.reader import open_recording

NAME: Final = "compaction"
TOPIC: Final = "state"
PROPS: Final = {"log.cleaner.backoff.ms": "500", "auto.leader.rebalance.enable": "false"}
CONFIG: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": "200000",
    "delete.retention.ms": "500",
    "min.cleanable.dirty.ratio": "1",
}
VALUE_BYTES: Final = 100
DELETES: Final = 0.03
"""The share of records that are tombstones."""
IN_A_TRANSACTION: Final = 20
LEAVERS: Final = 30
"""Number of keys that are written and deleted in the first second, and never used again."""
GONE: Final = ("superseded", "tombstones", "aborted", "markers")
"""The fields of SegmentsCleaned that count removed records."""
_ROWS_SHOWN: Final = 12
_PATIENCE_S: Final = 60.0
_LOOK_EVERY_S: Final = 0.1


class Stored(NamedTuple):
    """One record: its key and its value. A value of None is a tombstone."""

    key: bytes
    value: bytes | None


class Load(threading.Thread):
    """Two producers in one thread.

    `acked` has the records that were acknowledged.
    """

    def __init__(self, servers: str, keys: int, rate: int) -> None:
        super().__init__(daemon=True, name="compaction-load")
        self.acked: dict[int, Stored] = {}
        """Offset → record, for all acked records, except those of aborted transactions."""
        self.aborted: set[int] = set()
        """The offsets of the records in aborted transactions."""
        self.waits: list[tuple[float, float]] = []
        """For each ack: when it came (time.monotonic()), and after how many seconds."""
        self.failure = ""
        self.stop = threading.Event()
        self._keys = keys
        self._rate = rate
        self._chance = random.Random(7)
        # a batch that gathers on a busy machine must still fit into one segment (segment.bytes)
        common = {
            "bootstrap.servers": servers,
            "acks": "all",
            "log_level": 0,
            "batch.size": 64 * 1024,
        }
        self._plain = Producer({**common, "linger.ms": 20, "enable.idempotence": True})
        self._transactional = Producer({**common, "transactional.id": NAME})

    def run(self) -> None:
        try:
            self._transactional.init_transactions(_PATIENCE_S)
            began, sent, transactions = time.monotonic(), 0, 0
            while not self.stop.is_set():
                due = int((time.monotonic() - began) * self._rate)
                for _ in range(min(due - sent, 1000)):
                    self._send(sent)
                    sent += 1
                if sent // self._rate > transactions:  # one a second
                    self._transaction(transactions)
                    transactions += 1
                self._plain.poll(0.01)
            if self._plain.flush(_PATIENCE_S):
                self.failure = "the last records were not acked in time"
        except Exception as error:  # the demo's thread reports it, and ends
            self.failure = self.failure or str(error)

    def _record(self, number: int) -> Stored:
        if number < 2 * LEAVERS:
            return Stored(b"left-%d" % (number // 2), None if number % 2 else b"here")
        key = b"user-%d" % self._chance.randrange(self._keys)
        if self._chance.random() < DELETES:
            return Stored(key, None)
        return Stored(key, (b"value %d " % number).ljust(VALUE_BYTES, b"."))

    def _send(self, number: int) -> None:
        record, sent_at = self._record(number), time.monotonic()

        def acked(error: KafkaError | None, message: Message) -> None:
            offset = message.offset()
            if error is not None or offset is None:
                self.failure = f"a record was not acked: {error}"
                return
            now = time.monotonic()
            self.waits.append((now, now - sent_at))
            self.acked[offset] = record

        self._plain.produce(TOPIC, record.value, record.key, partition=0, on_delivery=acked)

    def _transaction(self, number: int) -> None:
        """Write one transaction. Commit it if `number` is even, and abort it if it is odd.

        Aborted transactions use the same keys as the other records. So the demo would notice if an
        aborted value became the last value of a key.
        """
        written: dict[int, Stored] = {}
        self._transactional.begin_transaction()
        for i in range(IN_A_TRANSACTION):
            record = self._record(1_000_000 + number * IN_A_TRANSACTION + i)

            def acked(error: KafkaError | None, message: Message, record: Stored = record) -> None:
                offset = message.offset()
                if error is None and offset is not None:
                    written[offset] = record

            self._transactional.produce(
                TOPIC, record.value, record.key, partition=0, on_delivery=acked
            )
        if number % 2 == 0:
            self._transactional.commit_transaction(_PATIENCE_S)
            self.acked |= written
        else:
            self._transactional.flush(_PATIENCE_S)
            self._transactional.abort_transaction(_PATIENCE_S)
            self.aborted |= written.keys()

    def check(self) -> None:
        """Raise ClusterError if a producer has failed."""
        if self.failure:
            raise ClusterError(f"a producer of the demo ended: {self.failure}")


class Disk(NamedTuple):
    """The segments of the topic's replica on one broker's disk."""

    segments: int
    bytes: int
    active_base: int


class Judged(NamedTuple):
    """The records a consumer read, compared with those that were acknowledged."""

    read: int
    keys: int
    """Number of keys that have a value at the end."""
    lost_or_old: int
    """Number of keys whose last acked value is missing, or that have an older value."""
    came_back: int
    """Number of keys that have a value although their last record was a tombstone."""
    elsewhere: int
    """Number of records at an offset for which another record, or no record, was acked."""
    out_of_order: int
    from_aborted: int


class Outcome(NamedTuple):
    before: Disk
    after: Disk
    acked: int
    groups: list[SegmentsCleaned]
    """The records that the leader's cleaner removed from each group of segments, oldest first."""
    passes: list[LogCleaned]
    """The passes of the leader's cleaner, oldest first."""
    cleaned_brokers: int
    longest_before_s: float
    longest_after_s: float
    """The longest wait for an ack after the cleaner began; the other is before that."""
    judged: Judged


def disk_of(cluster: Cluster, broker: int) -> Disk:
    """Return the number, bytes and last base offset of the topic's segments on a broker's disk."""
    files = sorted(cluster.replica(broker, TOPIC, 0).glob("*.log"))
    return Disk(len(files), sum(file.stat().st_size for file in files), int(files[-1].stem))


def clean_up_to(cluster: Cluster, broker: int) -> int:
    """Return the offset below which a broker's log is clean, from the broker's checkpoint file."""
    (log_dir,) = cluster.log_dirs(broker)
    file = OffsetCheckpointFile(str(log_dir / CLEANER_OFFSET_FILE), OsFileSystem())
    try:
        return file.read().get(Ours(TOPIC, 0), 0)
    except (OSError, CorruptCheckpointError):  # it is being replaced
        return 0


def set_dirty_ratio(servers: str, ratio: str) -> None:
    """Change `min.cleanable.dirty.ratio` of the topic while the brokers run."""
    change = AlterConfigOp("min.cleanable.dirty.ratio", OpType.SET, ratio)
    with Admin({"bootstrap.servers": servers}) as admin:
        admin.incremental_alter_configs({ConfigResource(ResourceType.TOPIC, TOPIC): [change]}).all()


def read_from_the_beginning(servers: str) -> list[tuple[int, Stored]]:
    """Return (offset, record) for each record that a read_committed consumer gets."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "compaction-demo",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: list[tuple[int, Stored]] = []
    try:
        while True:
            message = consumer.poll(_PATIENCE_S)
            if message is None:
                raise ClusterError(f"a consumer got no record for {_PATIENCE_S:.0f} s")
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    return found
                raise ClusterError(f"a consumer cannot read {TOPIC}: {error}")
            offset, key = message.offset(), message.key()
            if offset is None or key is None:
                raise ClusterError(f"a record of {TOPIC} has no offset or no key")
            found.append((offset, Stored(_bytes(key), _value(message))))
    finally:
        consumer.close()


def _bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data


def _value(message: Message) -> bytes | None:
    value = message.value()
    return None if value is None else _bytes(value)


def judge(
    read: Sequence[tuple[int, Stored]], acked: dict[int, Stored], aborted: set[int]
) -> Judged:
    """Compare the records that were read with those that were acked or aborted."""
    last: dict[bytes, tuple[int, bytes | None]] = {}
    for offset in sorted(acked):
        last[acked[offset].key] = (offset, acked[offset].value)
    found: dict[bytes, tuple[int, bytes | None]] = {}
    for offset, record in read:
        found[record.key] = (offset, record.value)
    live = {key: one for key, one in last.items() if one[1] is not None}
    deleted = [key for key, one in last.items() if one[1] is None]
    offsets = [offset for offset, _ in read]
    return Judged(
        read=len(read),
        keys=len(live),
        lost_or_old=sum(found.get(key) != one for key, one in live.items()),
        came_back=sum(found[key][1] is not None for key in deleted if key in found),
        elsewhere=sum(acked.get(offset) != record for offset, record in read),
        out_of_order=sum(a >= b for a, b in pairwise(offsets)),
        from_aborted=sum(offset in aborted for offset in offsets),
    )


def run(
    cluster: Cluster, recordings: Path, keys: int, rate: int, seconds: int, console: Console
) -> Outcome:
    create_topic(cluster.bootstrap_servers, TOPIC, 1, CONFIG)
    load = Load(cluster.bootstrap_servers, keys, rate)
    load.start()
    wanted = rate * seconds
    _wait(load, lambda: len(load.acked), wanted, f"{wanted:,} records to be acked")
    leader = wait_until_in_sync(cluster.bootstrap_servers, TOPIC, 1)[0]
    before = disk_of(cluster, leader)
    console.print(
        f"[cyan]●[/] {len(load.acked):,} records of {keys:,} keys are acked: {before.segments}"
        f" segments, {before.bytes:,} bytes on broker {leader}, all of them dirty"
    )
    lowered = time.monotonic()
    set_dirty_ratio(cluster.bootstrap_servers, "0.1")
    console.print("[yellow]●[/] min.cleanable.dirty.ratio is 0.1 now, and the load continues")
    for broker in range(BROKERS):
        _wait_until_clean(cluster, load, broker, before.active_base)
    more = len(load.acked) + rate
    _wait(load, lambda: len(load.acked), more, "the load to continue")
    load.stop.set()
    load.join(2 * _PATIENCE_S)
    load.check()
    set_dirty_ratio(cluster.bootstrap_servers, "0.001")
    for broker in range(BROKERS):
        _wait_until_clean(cluster, load, broker, disk_of(cluster, broker).active_base)
    after = disk_of(cluster, leader)
    console.print(f"[green]●[/] compacted: {after.segments} segments, {after.bytes:,} bytes")
    judged = judge(read_from_the_beginning(cluster.bootstrap_servers), load.acked, load.aborted)
    events = {
        broker: [one.event for one in open_recording(f"{recordings}/{broker}.record")]
        for broker in range(BROKERS)
    }
    passes = {
        broker: [one for one in found if isinstance(one, LogCleaned) and one.topic == TOPIC]
        for broker, found in events.items()
    }
    return Outcome(
        before=before,
        after=after,
        acked=len(load.acked),
        groups=[
            one for one in events[leader] if isinstance(one, SegmentsCleaned) and one.topic == TOPIC
        ],
        passes=passes[leader],
        cleaned_brokers=sum(bool(one) for one in passes.values()),
        longest_before_s=max((s for at, s in load.waits if at < lowered), default=0.0),
        longest_after_s=max((s for at, s in load.waits if at >= lowered), default=0.0),
        judged=judged,
    )


def _wait(load: Load, look: Callable[[], int], least: int, what: str) -> None:
    """Wait until `look` returns `least` or more.

    Raises Standstill if its number stops changing, and ClusterError if a producer has failed.
    """

    def seen() -> int:
        load.check()
        return look()

    wait_while_moving(seen, lambda number: number >= least, what, _LOOK_EVERY_S)


def _wait_until_clean(cluster: Cluster, load: Load, broker: int, offset: int) -> None:
    _wait(
        load,
        partial(clean_up_to, cluster, broker),
        offset,
        f"broker {broker} to compact its log up to offset {offset:,}",
    )


def show(outcome: Outcome, console: Console) -> None:
    table = Table(
        title="Records removed from each group of segments, on the leader",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=0,
    )
    for column in ("offset", "files", "bytes", "records", *GONE):
        table.add_column(column, justify="right", no_wrap=True)
    for one in outcome.groups[:_ROWS_SHOWN]:
        table.add_row(
            f"{one.base_offset:,}",
            f"{one.segments}",
            f"{one.bytes_before:,} → {one.bytes_after:,}",
            f"{one.records_before:,}",
            *(f"{getattr(one, what):,}" for what in GONE),
        )
    console.print(table)
    if len(outcome.groups) > _ROWS_SHOWN:
        console.print(f"and {len(outcome.groups) - _ROWS_SHOWN} more groups")
    for done in outcome.passes[:3]:
        console.print(
            f"a pass over offsets {done.from_offset:,} to {done.to_offset:,}:"
            f" {done.keys:,} keys in the map, {done.bytes_before:,} → {done.bytes_after:,} bytes,"
            f" {done.took_ms:,} ms"
        )


def report_of(outcome: Outcome) -> Report:
    report, judged = Report(NAME), outcome.judged
    report.figure("records acked", outcome.acked)
    report.figure("records read at the end", judged.read)
    report.figure("keys that have a value at the end", judged.keys)
    report.figure("bytes before, on the leader", outcome.before.bytes)
    report.figure("bytes at the end, on the leader", outcome.after.bytes)
    report.figure("passes of the leader's cleaner", len(outcome.passes))
    report.figure("keys in the map of the first pass", outcome.passes[0].keys)
    for what in GONE:
        report.figure(
            f"{what}, removed on the leader", sum(getattr(one, what) for one in outcome.groups)
        )
    report.figure(
        "longest wait for an ack before the cleaner began, ms",
        round(outcome.longest_before_s * 1000),
    )
    report.figure(
        "longest wait for an ack while it worked, ms", round(outcome.longest_after_s * 1000)
    )
    tombstones = sum(one.tombstones for one in outcome.groups)
    report.target("tombstones removed after delete.retention.ms", tombstones, ">", 0)
    report.target("replicas that were compacted", outcome.cleaned_brokers, "==", BROKERS)
    report.target("keys without their last acked value", judged.lost_or_old, "==", 0)
    report.target("deleted keys that came back", judged.came_back, "==", 0)
    report.target("records at another offset than acked", judged.elsewhere, "==", 0)
    report.target("records out of order", judged.out_of_order, "==", 0)
    report.target("records of aborted transactions that were read", judged.from_aborted, "==", 0)
    share = outcome.after.bytes / outcome.before.bytes
    report.target("bytes at the end, as a share of the bytes before", round(share, 3), "<=", 0.7)
    return report


@demo_command(NAME)
@click.option(
    "--keys", type=click.IntRange(1, 100_000), default=400, show_default=True, help="Keys in use."
)
@click.option(
    "--rate",
    type=click.IntRange(100, 20_000),
    default=2000,
    show_default=True,
    help="Records a second.",
)
@click.option(
    "--seconds",
    type=click.IntRange(2, 3600),
    default=5,
    show_default=True,
    help="How long the log grows before the cleaner may begin.",
)
@zookeeper_option
def compaction(console: Console, keys: int, rate: int, seconds: int, zookeeper: str) -> Report:
    """Compact a topic of few keys under load: what each segment loses, and that no key loses its
    last value.

    Exits with 1 when a target is missed.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-edu-recordings-") as folder:
        recorded = {
            broker: {"edu.record.file": f"{folder}/{broker}.record"} for broker in range(BROKERS)
        }
        with running_cluster(
            NAME, brokers=BROKERS, zookeeper=zookeeper, props=PROPS, broker_props=recorded
        ) as cluster:
            outcome = run(cluster, Path(folder), keys, rate, seconds, console)
    show(outcome, console)
    report = report_of(outcome)
    report.end(
        happened=f"{outcome.before.bytes:,} bytes became {outcome.after.bytes:,} while the load"
        f" continued, and each of {outcome.judged.keys:,} keys has its last acked value.",
        why="A reader of the whole topic needs only the last record of each key. So the cleaner"
        " leaves out the others when it copies a segment; offsets never change.",
        look_next="Read docs/compaction.md, and see the Log screen (L) of"
        f" {command_line('dashboard')} while a compacted topic is written.",
    )
    return report
