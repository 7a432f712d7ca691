"""The cleaner of Apache Kafka 2.8.2 and ours keep the same records of the same topic.

Each gets the same batches: many keys, deletions, compressed batches, an idempotent producer,
committed and aborted transactions. When both are clean up to the active segment, the records that a
reader finds there are compared, and Kafka's DumpLogSegments reads our cleaned files.
"""

import random
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.apache_kafka import apache_kafka, run_tool
from kafka_edu.supervisor.cluster import running_cluster
from tests.compacted_topic import clean_up_to, read
from tests.interop.external_programs import apache_kafka_jars
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.interop

TOPIC = "compacted"
PROPERTIES = {
    "log.cleaner.backoff.ms": "200",
    "log.retention.check.interval.ms": "1000",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
}
CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": "20000",
    "index.interval.bytes": "500",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "86400000",
}
KEYS = 40


def produce(servers: str) -> None:
    """Write the same batches to any broker: every flush ends a batch."""
    chance = random.Random(5)

    def some(sender: Producer, count: int) -> None:
        for _ in range(count):
            key = b"key-%d" % chance.randrange(KEYS)
            value = None if chance.random() < 0.1 else b"v" * chance.randrange(1, 300)
            sender.produce(TOPIC, value, key, partition=0)
        assert sender.flush(PATIENCE_S) == 0

    plain = {
        "bootstrap.servers": servers,
        "linger.ms": 1000,
        "batch.num.messages": 50,  # a batch is smaller than a segment
        "log_level": 0,
    }
    for codec in ("none", "lz4", "gzip"):
        sender = Producer(
            plain | {"compression.type": codec, "enable.idempotence": codec != "none"}
        )
        for _ in range(40):
            some(sender, 10)
    writer = Producer(plain | {"transactional.id": "compaction", "linger.ms": 5})
    writer.init_transactions(PATIENCE_S)
    for number in range(30):
        writer.begin_transaction()
        some(writer, 5)
        if number % 3:
            writer.commit_transaction(PATIENCE_S)
        else:
            writer.abort_transaction(PATIENCE_S)
    some(Producer(plain), 200)


def create(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    for made in admin.create_topics([NewTopic(TOPIC, 1, 1, config=CONFIG)]).values():
        made.result(PATIENCE_S)


def active_base(folder: Path) -> int:
    return max(int(path.stem) for path in folder.glob("*.log"))


def settled(log_dir: Path) -> int:
    folder = log_dir / f"{TOPIC}-0"
    wait_for(
        lambda: clean_up_to(log_dir, TOPIC) == active_base(folder),
        "the log is clean",
        PATIENCE_S * 2,
    )
    return active_base(folder)


@pytest.mark.rotated
def test_both_keep_the_same_records() -> None:
    jars = apache_kafka_jars()
    lines = [f"{key}={value}" for key, value in PROPERTIES.items()]
    with apache_kafka(jars, 1, lines) as theirs:
        create(theirs.bootstrap)
        produce(theirs.bootstrap)
        their_base = settled(theirs.log_dir(0))
        expected = read(theirs.bootstrap, TOPIC)
        committed = read(theirs.bootstrap, TOPIC, "read_committed")
    with running_cluster("compaction", brokers=1, props=PROPERTIES) as ours:
        create(ours.bootstrap_servers)
        produce(ours.bootstrap_servers)
        (log_dir,) = ours.log_dirs(0)
        our_base = settled(log_dir)
        found = read(ours.bootstrap_servers, TOPIC)
        below = min(their_base, our_base)
        assert below > 1_300, "nearly all that was written lies below the active segment"
        assert {row for row in found if row.offset < below} == {
            row for row in expected if row.offset < below
        }
        assert read(ours.bootstrap_servers, TOPIC, "read_committed") == committed
        files = sorted(str(path) for path in (log_dir / f"{TOPIC}-0").glob("*.log"))
        dumped = run_tool(
            jars,
            "kafka.tools.DumpLogSegments",
            "--deep-iteration",
            "--files",
            ",".join(files),
        )
    assert "isvalid: false" not in dumped
    assert f"baseOffset: {our_base}" in dumped
    counts = [row.key for row in found if row.offset < below]
    assert len(counts) < 2 * KEYS, "of each key little more than the last value is left"
