"""`kafka-edu bench cleaner`: how fast the log cleaner works, compared with Apache Kafka 2.8.2.

One broker of ours and one of Apache Kafka run during the whole benchmark, and take turns. A topic
with one partition gets records with random keys. Its `min.cleanable.dirty.ratio` is 1 at first, so
that the cleaner does not clean it. Then the ratio is lowered. The cleaner is done when the file
`cleaner-offset-checkpoint` names the base offset of the active segment. So both cleaners are
measured from outside, by the same clock and the same file:

    MB/s           bytes of the segments that are cleaned, by seconds; records of 1 KiB and 100 B
    throughput     a producer writes 1 KiB records to another topic, once alone and once while a
                   cleaner works on a log that is large enough
    longest gap    the longest time between two acknowledgements of that producer

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
"""Name → (bytes of one value, bytes of all values that are written)."""
KEYS = 20_000
BESIDE_BYTES = 512 * MEGABYTE
"""Bytes that the cleaner has to work on while a producer is measured."""
BESIDE_SECONDS = 6.0
TIMEOUT_S = 300.0
SETTINGS = {
    "log.cleaner.backoff.ms": "100",
    "offsets.topic.num.partitions": "1",
    "log.retention.ms": "-1",
}
SPEED, LOSS = 0.5, 0.0


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


class Speed(NamedTuple):
    """How fast one pass of a cleaner was, and how many bytes it left."""

    mb_a_second: float
    bytes_after: int


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
        time.sleep(0.005)  # the file is the only sign, and its moment is what is measured


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


def produce_for(peer: Peer, topic: str, stop: Callable[[], bool]) -> Beside:
    """Produce 1 KiB records with acks=1 until `stop` returns True."""
    acks: list[float] = []

    def acked(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            raise RuntimeError(f"{peer.name} refused a record: {error}")
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
    began = time.perf_counter()
    while not stop():
        for _ in range(100):
            try:
                producer.produce(topic, payload, partition=0, on_delivery=acked)
            except BufferError:
                producer.poll(0.005)
        producer.poll(0)
    ended = time.perf_counter()
    producer.flush(TIMEOUT_S)
    within = [at for at in acks if at <= ended]
    gaps = [later - earlier for earlier, later in pairwise(within)]
    return Beside(
        len(within) * 1024 / MEGABYTE / (ended - began), 1000 * max(gaps, default=ended - began)
    )


def for_seconds(seconds: float) -> Callable[[], bool]:
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() > end


def beside_cleaner(peer: Peer, name: str) -> tuple[Beside, Beside, float]:
    """Measure a producer alone, and then while a cleaner works.

    Return both results. The third value is the share (0 to 1) of the second measurement in which
    the cleaner worked.
    """
    plain, keyed = f"{name}-plain", f"{name}-keyed"
    create(peer, plain)
    compacted(peer, keyed)
    fill(peer, keyed, 1024, BESIDE_BYTES)
    offset = int(peer.segments(keyed)[-1].stem)
    produce_for(peer, plain, for_seconds(1.0))
    alone = produce_for(peer, plain, for_seconds(BESIDE_SECONDS))
    done_at: list[float] = []

    def watch() -> None:
        wait_until_clean(peer, keyed, offset)
        done_at.append(time.perf_counter())

    let_clean(peer, keyed)
    began = time.perf_counter()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    limit = for_seconds(BESIDE_SECONDS)
    beside = produce_for(peer, plain, lambda: bool(done_at) or limit())
    measured = time.perf_counter() - began
    watcher.join()
    worked = min(done_at[0] - began, measured) / measured
    delete(peer, plain, keyed)
    return alone, beside, worked


@contextlib.contextmanager
def peers() -> Iterator[list[Peer]]:
    """Run both brokers during the block. Raises ClusterError and PeerMissing."""
    jars = kafka_jars()
    lines = [f"{key}={value}" for key, value in SETTINGS.items()]
    with (
        running_cluster("bench-cleaner", brokers=1, props=SETTINGS) as ours,
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


def run(both: list[Peer], repeats: int, scale: float, report: Report) -> None:
    """Measure everything, and add figures and targets to `report`."""
    for peer in both:  # The JVM compiles the cleaner's code.
        cleaning(peer, "warm-up", 1024, int(64 * MEGABYTE * scale) + 2 * SEGMENT_BYTES)
    ratios = {}
    for name, (size, total) in SIZES.items():
        speeds: dict[str, list[Speed]] = {peer.name: [] for peer in both}
        for repeat, peer in turns(both, repeats):
            found = cleaning(peer, f"clean-{size}-{repeat}", size, int(total * scale))
            speeds[peer.name].append(found)
            print(f"{name}: {peer.name} {found.mb_a_second:.1f} MB/s", flush=True)
        medians = {
            peer: statistics.median(one.mb_a_second for one in many)
            for peer, many in speeds.items()
        }
        for peer_name, median in medians.items():
            report.figure(f"{peer_name}: cleaner, {name} records, MB/s", round(median, 1))
            report.figure(
                f"{peer_name}: bytes that stay, {name} records", speeds[peer_name][0].bytes_after
            )
        ours, theirs = medians.values()
        ratios[name] = ours / theirs
    losses: dict[str, list[float]] = {peer.name: [] for peer in both}
    gaps: dict[str, list[float]] = {peer.name: [] for peer in both}
    for repeat, peer in turns(both, repeats):
        alone, beside, worked = beside_cleaner(peer, f"beside-{repeat}")
        losses[peer.name].append(1 - beside.mb_a_second / alone.mb_a_second)
        gaps[peer.name].append(beside.longest_gap_ms)
        print(
            f"producer beside the cleaner: {peer.name} {alone.mb_a_second:.1f} →"
            f" {beside.mb_a_second:.1f} MB/s, longest gap {alone.longest_gap_ms:.0f} →"
            f" {beside.longest_gap_ms:.0f} ms, the cleaner worked {worked:.0%} of the time",
            flush=True,
        )
    for peer in both:
        report.figure(
            f"{peer.name}: a producer loses beside the cleaner, %",
            round(100 * statistics.median(losses[peer.name]), 1),
        )
        report.figure(
            f"{peer.name}: longest gap between acks beside the cleaner, ms",
            round(statistics.median(gaps[peer.name])),
        )
    for name, ratio in ratios.items():
        report.target(f"cleaner's MB/s by Apache Kafka's, {name}", round(ratio, 2), ">=", SPEED)
    ours, theirs = (statistics.median(losses[peer.name]) for peer in both)
    report.target(
        "a producer's loss beside the cleaner minus Apache Kafka's, percentage points",
        round(100 * (ours - theirs), 1),
        "<=",
        LOSS,
    )


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets do not hold.

    Return 2 if it cannot run on this machine.
    """
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the data that is written (default 1)"
    )
    add_repeats(parser, 3)
    args = parser.parse_args(argv)
    report = Report(NAME)
    try:
        with peers() as both:
            run(both, args.repeats, args.scale, report)
    except (ClusterError, PeerMissing) as error:
        print(f"bench {NAME} cannot run: {error}", file=sys.stderr)
        return 2
    report.show()
    if args.json:
        report.write(args.json)
    return 0
