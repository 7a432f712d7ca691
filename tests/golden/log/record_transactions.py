"""Record what Apache Kafka writes about transactions: `python -m
tests.golden.log.record_transactions` (see README.md).

Two producers write overlapping transactions, which commit or abort, into one partition with small
segments. Some transactions cross the end of a segment. The folder of the stopped broker is copied
to `transactions/`. The file `aborted.json` in it holds the aborted transactions that the broker
returned to a read_committed fetch from each offset.
"""

import json
import shutil
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.apache_kafka import SMALL, apache_kafka, kafka_jars
from kafka_edu.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from tests.conformance.brokers import ListeningBroker
from tests.conformance.replay import Asker

TARGET = Path(__file__).parent / "transactions"
TOPIC_CONFIG = {
    "segment.bytes": "1200",
    "index.interval.bytes": "200",
    "segment.index.bytes": "960",
    "retention.ms": "-1",
}
STATE_PARTITIONS = 2
SETTINGS = [
    "log.cleaner.dedupe.buffer.size=4194304",
    "transaction.state.log.replication.factor=1",
    "transaction.state.log.min.isr=1",
    f"transaction.state.log.num.partitions={STATE_PARTITIONS}",
]
SIZES = (120, 300, 700, 100_000)
#: The producer and its action: b(egin), w(rite), c(ommit), a(bort).
STORY = (
    "1b 1w 2b 2w 1w 1a 2w 2w 1b 1w 2a 1w 1w 1c 2b 2w 1b 1w 2w 2w 2w 2w 1a 2w 2w 1b 1w 1w 1w 1a 2a"
    " 1b 1w 2b 2w 2w 1a 2c 1b 1w 1a 2b 2w"
)


def write(bootstrap: str) -> None:
    producers = {}
    for name in "12":
        producers[name] = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": f"golden-{name}", "linger.ms": 0}
        )
        producers[name].init_transactions(60)
    for i, step in enumerate(STORY.split()):
        producer, act = producers[step[0]], step[1]
        if act == "b":
            producer.begin_transaction()
        elif act == "w":
            producer.produce("golden", "x" * 100, f"{step[0]}-{i}", timestamp=1_600_000_000_000 + i)
            assert producer.flush(60) == 0
        elif act == "c":
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)


def aborted(port: int) -> list[object]:
    """Fetch with read_committed from each offset and with each size. For each fetch, return
    (offset, size, high watermark, last stable offset, aborted transactions as [(producer id, first
    offset)]).
    """
    asker, told = Asker(ListeningBroker("127.0.0.1", port)), []
    for size in SIZES:
        for offset in range(200):
            wanted = FetchPartition(
                partition=0, fetch_offset=offset, partition_max_bytes=size, log_start_offset=-1
            )
            topics = [FetchTopic(topic="golden", partitions=[wanted])]
            request = FetchRequest(
                replica_id=-1, max_wait_ms=0, min_bytes=0, isolation_level=1, topics=topics
            )
            response: FetchResponse = asker.ask("fetch", request, 11)
            answer = response.responses[0].partition_responses[0]
            if answer.error_code:
                break
            found = [(a.producer_id, a.first_offset) for a in answer.aborted_transactions or ()]
            told.append((offset, size, answer.high_watermark, answer.last_stable_offset, found))
    return told


def main() -> None:
    shutil.rmtree(TARGET, ignore_errors=True)
    with apache_kafka(kafka_jars(), 1, SETTINGS, java=SMALL) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_topics(
            [NewTopic("golden", 1, 1, config=TOPIC_CONFIG)],
            operation_timeout=60,
            request_timeout=60,
        )["golden"].result(60)
        write(kafka.bootstrap)
        told = aborted(kafka.ports[0])
        kafka.stop(0)
        shutil.copytree(
            kafka.log_dir(0) / "golden-0", TARGET, ignore=shutil.ignore_patterns("*.lock")
        )
        for partition in range(STATE_PARTITIONS):
            name = f"__transaction_state-{partition}"
            shutil.copyfile(kafka.log_dir(0) / name / f"{0:020d}.log", TARGET / f"{name}.records")
    (TARGET / "aborted.json").write_text(
        "[\n" + ",\n".join(json.dumps(row) for row in told) + "\n]\n"
    )


main()
