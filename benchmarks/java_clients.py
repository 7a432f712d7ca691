"""Measure with Kafka's own tools, ProducerPerformance and ConsumerPerformance.

The tools are started as a user starts them. MB are 2^20 bytes of payload, as in their output.
"""

import re
import tempfile
from pathlib import Path

from .apache_kafka import run_tool

BATCH = 65_536
LINGER_MS = 5
SHORT_REST = "fetch.max.wait.ms=10"
"""A consumer setting: the broker waits at most 10 ms for more records before it answers a fetch.

The Java consumer sends a broker one fetch request at a time, only for partitions from which it has
no records left. If these partitions have been read to their end, the broker waits fetch.max.wait.ms
before it answers, which is 500 ms by default. During this time the consumer uses up the records of
the broker's other partitions, and does not fetch more. So a run that needs half a second would have
one, two or four such pauses. Their number depends on the lengths of the partitions, which the
producer determines, and not on the broker.
"""


def produce(jars: Path, bootstrap: str, topic: str, *, size: int, acks: str, records: int) -> float:
    """Run ProducerPerformance. Return the MB/s that it reports for the whole run."""
    settings = [
        f"bootstrap.servers={bootstrap}",
        f"acks={acks}",
        f"linger.ms={LINGER_MS}",
        f"batch.size={BATCH}",
    ]
    out = run_tool(
        jars,
        "org.apache.kafka.tools.ProducerPerformance",
        *(
            "--topic",
            topic,
            "--num-records",
            str(records),
            "--record-size",
            str(size),
            "--throughput",
            "-1",
            "--producer-props",
        ),
        *settings,
    )
    found = re.findall(r"\(([\d.]+) MB/sec\)", out)
    if not found:
        raise RuntimeError(f"ProducerPerformance said nothing that can be read: {out[-500:]}")
    return float(found[-1])


def consume(jars: Path, bootstrap: str, topic: str, *, records: int) -> float:
    """Run ConsumerPerformance. Return the MB/s that it reports for the time in which it fetched.

    The time in which the consumer's group was formed is not included.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as config:
        config.write(SHORT_REST)
        config.flush()
        what = (
            "--bootstrap-server",
            bootstrap,
            "--topic",
            topic,
            "--messages",
            str(records),
            "--consumer.config",
            config.name,
        )
        out = run_tool(jars, "kafka.tools.ConsumerPerformance", *what)
    header, values = (
        [field.strip() for field in line.split(",")]
        for line in out.splitlines()
        if line.count(",") > 8
    )
    row = dict(zip(header, values, strict=True))
    if int(row["data.consumed.in.nMsg"]) < records:
        raise RuntimeError(
            f"ConsumerPerformance read {row['data.consumed.in.nMsg']} of {records} records"
        )
    return float(row["fetch.MB.sec"])
