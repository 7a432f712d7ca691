"""Kafka's own measuring tools, ProducerPerformance and ConsumerPerformance, run as a user runs
them. MB are 2^20 bytes of payload, as in their output.
"""

import re
import tempfile
from pathlib import Path

from .apache_kafka import run_tool

BATCH = 65_536
LINGER_MS = 5
SHORT_REST = "fetch.max.wait.ms=10"
"""The longest time that the broker waits for records of a fetch.

The Java consumer asks a broker for those partitions of which it holds nothing, one request at a
time. When all of these have been read to their end, the broker waits fetch.max.wait.ms, which is
500 by default. Meanwhile the consumer uses up the other partitions of that broker and does not ask
for more. A run of half a second's work then has one, two or four such pauses, depending on the
lengths of the partitions. The producer sets these lengths, not the broker.
"""


def produce(jars: Path, bootstrap: str, topic: str, *, size: int, acks: str, records: int) -> float:
    """Return the MB/s that ProducerPerformance reports for the whole run."""
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
    """Return the MB/s that ConsumerPerformance reports for the time in which it fetched, after its
    group had gathered.
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
