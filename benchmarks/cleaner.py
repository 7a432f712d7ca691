"""`kafka-edu bench cleaner`: how fast the log cleaner works, compared with Apache Kafka 2.8.2.

One kafka-edu broker and one of Apache Kafka run during the whole benchmark, and take turns. A topic
with one partition gets records with random keys. Its `min.cleanable.dirty.ratio` is 1 at first, so
that the cleaner does not clean it. Then the ratio is lowered. The cleaner is done when the file
`cleaner-offset-checkpoint` contains the base offset of the active segment. So both cleaners are
measured from outside, with the same clock and the same kind of file:

    MB/s           bytes of the segments that are cleaned, by seconds; records of 1 KiB and 100 B
    loss           a producer writes 1 KiB records to another topic all the time, and at intervals
                   a cleaner works on a log. The loss is the share of the producer's throughput that
                   is missing then, compared with the time before and after
    longest gap    the longest time between two acknowledgements of that producer

While the loss is measured, `log.cleaner.io.max.bytes.per.second` limits both cleaners to the same
number of bytes a second. Without this limit, each cleaner works as fast as it can. A cleaner that
is four times as fast, but works only a quarter of the time, costs the same in total. But during its
work the loss would be four times as large.

One target says whether both cleaners did the same work. The target for the loss is meaningful only
if the first target holds. Our cleaner has a low priority, so it falls behind on a machine without a
free core. In a run on a busy machine (load 30 on two cores), our cleaner cleaned 3.3 MB/s, and
Apache Kafka's 22.5 MB/s. For the four logs, the losses were between -18 and 15 % with our broker,
and between -50 and 79 % with Apache Kafka. So measure the loss only on a quiet machine.

Each figure is the median of the repeats.
"""

import argparse
import contextlib
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import (  # `admin` does not export them for types
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)
from confluent_kafka.cimpl import NewTopic

from kafka_edu.cli.report import Report
from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.python_process import command_line
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.checkpoint_file import CorruptCheckpointError
from kafka_edu.log.offset_checkpoint_file import CLEANER_OFFSET_FILE, OffsetCheckpointFile
from kafka_edu.supervisor.cluster import ClusterError, running_cluster

from .apache_kafka import PeerMissing, apache_kafka, kafka_jars
from .options import add_repeats

NAME = "cleaner"
HELP = (
    "MB/s of the log cleaner and what it costs a producer, compared with Apache Kafka 2.8.2 (needs"
    " Java; ten minutes)"
)

MEGABYTE = 1 << 20
SEGMENT_BYTES = 32 * MEGABYTE
SIZES = {"1 KiB": (1024, 320 * MEGABYTE), "100 B": (100, 96 * MEGABYTE)}
"""Name → (bytes of one value, total bytes of the values that are written)."""
KEYS = 20_000
BESIDE_BYTES = 512 * MEGABYTE
"""Bytes of each log that is cleaned while a producer is measured.

Kafka's Throttler looks at the rate for the first time after 300 ms. Until then its cleaner works at
full speed, so about 120 MB are not limited. Our Throttle limits every byte. In a log of 128 MB that
difference was a quarter of all work; in a large log it is small.
"""
BESIDE_LOGS = 2
BESIDE_SECONDS = 4.0
"""For how long a producer is measured without a cleaner, before and after each log."""
BESIDE_RATE = 48 * MEGABYTE
"""The bytes that a cleaner may read and write in a second while a producer is measured. The cleaner
reads each log twice.
"""
TIMEOUT_S = 300.0
SETTINGS = {
    "log.cleaner.backoff.ms": "100",
    "offsets.topic.num.partitions": "1",
    "log.retention.ms": "-1",
}
SPEED, LOSS, SAME_WORK = 0.5, 0.0, 0.9


class Peer(NamedTuple):
    """One broker, and its log dir."""

    name: str
    bootstrap: str
    log_dir: Path

    def clean_up_to(self, topic: str) -> int:
        """Return the offset below which the log of partition 0 is clean."""
        file = OffsetCheckpointFile(str(self.log_dir / CLEANER_OFFSET_FILE), OsFileSystem())
        try:
            return file.read().get(TopicPartition(topic, 0), 0)
        except (OSError, CorruptCheckpointError):  # There is none yet, or it is being replaced.
            return 0

    def segments(self, topic: str) -> list[Path]:
        return sorted((self.log_dir / f"{topic}-0").glob("*.log"))


class Beside(NamedTuple):
    """The throughput of a producer, and its longest time without an ack."""

    mb_a_second: float
    longest_gap_ms: float


class Pair(NamedTuple):
    """The throughput of a producer while a cleaner worked, and without the cleaner."""

    alone: float
    """MB/s"""
    beside: Beside
    cleaned: float
    """MB/s of the cleaner."""

    @property
    def loss(self) -> float:
        return 1 - self.beside.mb_a_second / self.alone


class Speed(NamedTuple):
    """How fast one pass of a cleaner was, and how many bytes the log had after it."""

    mb_a_second: float
    bytes_after: int


def scaled(total: int, scale: float) -> int:
    """Return how many bytes of values to write: a share of `total`, and at least two segments.

    The cleaner never cleans the active segment. With less than two segments, it would have nothing
    to do.
    """
    return max(int(total * scale), 2 * SEGMENT_BYTES)


def create(peer: Peer, topic: str, **settings: str) -> None:
    """Create a topic with one partition and one replica."""
    admin = AdminClient({"bootstrap.servers": peer.bootstrap})
    for made in admin.create_topics([NewTopic(topic, 1, 1, config=settings)]).values():
        made.result(TIMEOUT_S)


def delete(peer: Peer, *topics: str) -> None:
    """Delete topics, so that their files do not slow down the next measurement."""
    admin = AdminClient({"bootstrap.servers": peer.bootstrap})
    for gone in admin.delete_topics(list(topics)).values():
        gone.result(TIMEOUT_S)


def compacted(peer: Peer, topic: str) -> None:
    """Create a compacted topic that the cleaner does not clean before `let_clean` is called."""
    create(
        peer,
        topic,
        **{
            "cleanup.policy": "compact",
            "segment.bytes": str(SEGMENT_BYTES),
            "min.cleanable.dirty.ratio": "1",
        },
    )


def let_clean(peer: Peer, topic: str) -> None:
    """Lower the dirty ratio, so that the cleaner begins."""
    entry = ConfigEntry(
        "min.cleanable.dirty.ratio", "0.01", incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": peer.bootstrap})
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(TIMEOUT_S)


def fill(peer: Peer, topic: str, size: int, total: int) -> None:
    """Write records with random keys until their values have `total` bytes in all.

    Each value has `size` bytes. Each repeat writes the same bytes to each broker.
    """
    producer = Producer(
        {
            "bootstrap.servers": peer.bootstrap,
            "acks": "1",
            "linger.ms": 20,
            "batch.size": 1 << 18,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    chance = random.Random(5)
    values = [chance.randbytes(size) for _ in range(64)]
    for number in range(total // size):
        key = b"key-%d" % chance.randrange(KEYS)
        while True:
            try:
                producer.produce(topic, values[number % 64], key, partition=0)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 10_000 == 0:
            producer.poll(0)
    if producer.flush(TIMEOUT_S):
        raise RuntimeError(f"{peer.name} did not acknowledge all records of {topic} in time")


def wait_until_clean(peer: Peer, topic: str, offset: int) -> None:
    """Wait until the log is clean below `offset`."""
    end = time.monotonic() + TIMEOUT_S
    while peer.clean_up_to(topic) < offset:
        if time.monotonic() > end:
            raise RuntimeError(f"{peer.name} has not compacted {topic} after {TIMEOUT_S:.0f} s")
        time.sleep(0.005)  # the moment when the file changes is measured


def cleaning(peer: Peer, topic: str, size: int, total: int) -> Speed:
    """Write a log, and measure one pass of the cleaner over it."""
    compacted(peer, topic)
    fill(peer, topic, size, total)
    *closed, active = peer.segments(topic)
    before = sum(file.stat().st_size for file in closed)
    began = time.perf_counter()
    let_clean(peer, topic)
    wait_until_clean(peer, topic, int(active.stem))
    seconds = time.perf_counter() - began
    after = sum(file.stat().st_size for file in peer.segments(topic)[:-1])
    delete(peer, topic)
    return Speed(before / MEGABYTE / seconds, after)


@contextlib.contextmanager
def producing(peer: Peer, topic: str) -> Iterator[list[float]]:
    """Produce 1 KiB records with acks=1 during the block. The list gets the time of each
    acknowledgement.
    """
    acks: list[float] = []
    errors: list[KafkaError] = []
    over = threading.Event()

    def acked(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            errors.append(error)
        acks.append(time.perf_counter())

    producer = Producer(
        {
            "bootstrap.servers": peer.bootstrap,
            "acks": "1",
            "linger.ms": 5,
            "batch.size": 1 << 16,
            "queue.buffering.max.messages": 20_000,
        }
    )
    payload = random.Random(3).randbytes(1024)

    def pump() -> None:
        while not over.is_set():
            for _ in range(100):
                try:
                    producer.produce(topic, payload, partition=0, on_delivery=acked)
                except BufferError:
                    producer.poll(0.005)
            producer.poll(0)

    thread = threading.Thread(target=pump, daemon=True)
    thread.start()
    try:
        yield acks
    finally:
        over.set()
        thread.join()
        producer.flush(TIMEOUT_S)
    if errors:
        raise RuntimeError(f"{peer.name} refused {len(errors)} records: {errors[0]}")


def measured(acks: list[float], wait: Callable[[], None]) -> tuple[Beside, float]:
    """Call `wait`. Return the producer's throughput and longest gap meanwhile, and the seconds."""
    first, began = len(acks), time.perf_counter()
    wait()
    seconds = time.perf_counter() - began
    within = acks[first:]
    gaps = [later - earlier for earlier, later in pairwise(within)]
    return (
        Beside(len(within) * 1024 / MEGABYTE / seconds, 1000 * max(gaps, default=seconds)),
        seconds,
    )


def beside_cleaner(peer: Peer, name: str, scale: float) -> list[Pair]:
    """Measure a producer alone and next to a working cleaner, in turn."""
    plain, keyed = f"{name}-plain", [f"{name}-keyed-{number}" for number in range(BESIDE_LOGS)]
    create(peer, plain)
    for topic in keyed:
        compacted(peer, topic)
        fill(peer, topic, 1024, scaled(BESIDE_BYTES, scale))
    pairs = []
    with producing(peer, plain) as acks:
        measured(acks, lambda: time.sleep(1.0))  # until it is at full speed
        before, _ = measured(acks, lambda: time.sleep(BESIDE_SECONDS))
        for topic in keyed:
            *closed, active = peer.segments(topic)
            size = sum(file.stat().st_size for file in closed) / MEGABYTE

            def clean(topic: str = topic, end: int = int(active.stem)) -> None:
                let_clean(peer, topic)
                wait_until_clean(peer, topic, end)

            beside, seconds = measured(acks, clean)
            after, _ = measured(acks, lambda: time.sleep(BESIDE_SECONDS))
            alone = (before.mb_a_second + after.mb_a_second) / 2
            pairs.append(Pair(alone, beside, size / seconds))
            before = after
    delete(peer, plain, *keyed)
    return pairs


@contextlib.contextmanager
def peers(**more: str) -> Iterator[list[Peer]]:
    """Run both brokers during the block, with SETTINGS and the settings in `more`. Raises
    ClusterError and PeerMissing.
    """
    jars = kafka_jars()
    settings = SETTINGS | more
    lines = [f"{key}={value}" for key, value in settings.items()]
    with (
        running_cluster("bench-cleaner", brokers=1, props=settings) as ours,
        apache_kafka(jars, 1, lines) as theirs,
    ):
        (log_dir,) = ours.log_dirs(0)
        yield [
            Peer("kafka-edu", ours.bootstrap_servers, log_dir),
            Peer("Apache Kafka 2.8.2", theirs.bootstrap, theirs.log_dir(0)),
        ]


def turns(both: list[Peer], repeats: int) -> Iterator[tuple[int, Peer]]:
    """Yield each broker once in each repeat. Every second repeat has the opposite order."""
    for repeat in range(repeats):
        for peer in reversed(both) if repeat % 2 else both:
            yield repeat, peer


def measure_speed(both: list[Peer], repeats: int, scale: float, report: Report) -> None:
    """Measure each cleaner alone, and write figures and targets."""
    for peer in both:  # Warm-up: the JVM compiles the cleaner's code.
        cleaning(peer, "warm-up", 1024, int(64 * MEGABYTE * scale) + 2 * SEGMENT_BYTES)
    ratios = {}
    for name, (size, total) in SIZES.items():
        speeds: dict[str, list[Speed]] = {peer.name: [] for peer in both}
        for repeat, peer in turns(both, repeats):
            found = cleaning(peer, f"clean-{size}-{repeat}", size, scaled(total, scale))
            speeds[peer.name].append(found)
            print(f"{name}: {peer.name} {found.mb_a_second:.1f} MB/s", flush=True)
        medians = {
            peer: statistics.median(one.mb_a_second for one in many)
            for peer, many in speeds.items()
        }
        for peer_name, median in medians.items():
            report.figure(f"{peer_name}: cleaner, {name} records, MB/s", round(median, 1))
            report.figure(
                f"{peer_name}: bytes left, {name} records", speeds[peer_name][0].bytes_after
            )
        ours, theirs = medians.values()
        ratios[name] = ours / theirs
    for name, ratio in ratios.items():
        report.target(
            f"cleaner's MB/s divided by Apache Kafka's, {name}", round(ratio, 2), ">=", SPEED
        )


def measure_loss(both: list[Peer], repeats: int, scale: float, report: Report) -> None:
    """Measure a producer next to each cleaner, and write figures and targets."""
    for peer in both:  # Warm-up of the cleaner and of produce requests.
        cleaning(peer, "warm-up", 1024, 2 * SEGMENT_BYTES)
    pairs: dict[str, list[Pair]] = {peer.name: [] for peer in both}
    for repeat, peer in turns(both, repeats):
        for one in beside_cleaner(peer, f"beside-{repeat}", scale):
            pairs[peer.name].append(one)
            print(
                f"producer while the cleaner runs: {peer.name} {one.alone:.1f} →"
                f" {one.beside.mb_a_second:.1f} MB/s, longest gap"
                f" {one.beside.longest_gap_ms:.0f} ms, the cleaner {one.cleaned:.1f} MB/s",
                flush=True,
            )
    losses, cleaned = [], []
    for peer in both:
        found = pairs[peer.name]
        losses.append(statistics.median(one.loss for one in found))
        cleaned.append(statistics.median(one.cleaned for one in found))
        report.figure(
            f"{peer.name}: a producer's loss while the cleaner runs, %", round(100 * losses[-1], 1)
        )
        report.figure(
            f"{peer.name}: cleaner's MB/s while a producer writes, limited", round(cleaned[-1], 1)
        )
        report.figure(
            f"{peer.name}: longest gap between acks while the cleaner runs, ms",
            round(statistics.median(one.beside.longest_gap_ms for one in found)),
        )
    report.target(
        "the same work: cleaner's MB/s while a producer writes, divided by Apache Kafka's",
        round(cleaned[0] / cleaned[1], 2),
        ">=",
        SAME_WORK,
    )
    report.target(
        "a producer's loss while the cleaner runs minus Apache Kafka's, percentage points",
        round(100 * (losses[0] - losses[1]), 1),
        "<=",
        LOSS,
    )


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed.

    Return 2 if it cannot run on this machine.
    """
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help="write this share of the data (default 1), but at least 64 MiB per log",
    )
    parser.add_argument("--only", choices=["speed", "loss"], help="measure this part only")
    add_repeats(parser, 3)
    args = parser.parse_args(argv)
    report = Report(NAME)
    try:
        if args.only != "loss":
            with peers() as both:
                measure_speed(both, args.repeats, args.scale, report)
        if args.only != "speed":
            with peers(**{"log.cleaner.io.max.bytes.per.second": str(BESIDE_RATE)}) as both:
                measure_loss(both, args.repeats, args.scale, report)
    except (ClusterError, PeerMissing) as error:
        print(f"bench {NAME} cannot run: {error}", file=sys.stderr)
        return 2
    report.show()
    if args.json:
        report.write(args.json)
    return 0
