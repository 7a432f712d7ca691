"""`kafka-edu bench clients`: compare our producer and consumer with other Python clients.

The producers send the same records to the same kafka-edu broker, with the same batch.size and
linger.ms. They take turns. The figure is thousands of records a second, from the first `send` until
the last acknowledgement. Each figure is the median of the repeats. Then each consumer reads the
same topic from the first record to the last, with the same limits for a fetch. The processor time
of the reading process is shown too, because it depends less on other programs on the machine.

kafka-python is in Python, like ours. aiokafka reads and writes records with an extension in C.
confluent-kafka is librdkafka, which is written in C. This client shows which rates are possible.
"""

import argparse
import asyncio
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

from kafka import KafkaProducer

from kafka_edu.cli.report import Report
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import running_cluster

from . import confluent_clients
from .confluent_clients import MEGABYTE
from .consumer_clients import CONSUMERS, ConsumerClient
from .java_clients import BATCH, LINGER_MS
from .options import add_repeats

NAME = "clients"
HELP = "our producer and consumer compared with those of kafka-python, aiokafka and confluent-kafka"

PARTITIONS: Final = 3
REPEATS: Final = 5
RECORDS: Final = {100: 100_000, 1024: 40_000}
"""Record size in bytes → the number of records that are sent in one measurement.

Three times as many are read, because reading 100,000 records of 100 B takes only 0.1 s.
"""
ACKS: Final = ("1", "all")
BESIDE_KAFKA_PYTHON: Final = 1.5
BESIDE_AIOKAFKA: Final = 1.2
TIMEOUT_S: Final = 120.0
SENDING: Final = "sending"
READING: Final = "reading"


def ours(bootstrap: str, topic: str, size: int, acks: str, records: int) -> float:
    """Produce with our producer.

    Return the time in s. Raises KafkaException for a failed record.
    """

    async def run() -> float:
        payload = b"x" * size
        settings = {
            "bootstrap.servers": bootstrap,
            "acks": acks,
            "linger.ms": LINGER_MS,
            "batch.size": BATCH,
        }
        async with Producer(settings) as producer:
            await producer.partitions_for(topic)
            began = time.perf_counter()
            futures = [await producer.send(topic, payload) for _ in range(records)]
            await producer.flush()
            seconds = time.perf_counter() - began
            for future in futures:
                future.result()
            return seconds

    return asyncio.run(run())


def kafka_python(bootstrap: str, topic: str, size: int, acks: str, records: int) -> float:
    """Produce with kafka-python. Return the time in s. Raises KafkaError for a failed record."""
    payload = b"x" * size
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        acks=1 if acks == "1" else acks,
        linger_ms=LINGER_MS,
        batch_size=BATCH,
        enable_idempotence=False,
    )
    try:
        producer.partitions_for(topic)
        began = time.perf_counter()
        futures = [producer.send(topic, payload) for _ in range(records)]
        producer.flush(TIMEOUT_S)
        seconds = time.perf_counter() - began
        for future in futures:
            future.get(TIMEOUT_S)
        return seconds
    finally:
        producer.close()


def aiokafka(bootstrap: str, topic: str, size: int, acks: str, records: int) -> float:
    """Produce with aiokafka. Return the time in s. Raises KafkaError for a failed record."""
    client = importlib.import_module("aiokafka")  # a package of the group dev

    async def run() -> float:
        payload = b"x" * size
        producer = client.AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            acks=1 if acks == "1" else acks,
            linger_ms=LINGER_MS,
            max_batch_size=BATCH,
        )
        await producer.start()
        try:
            await producer.partitions_for(topic)
            began = time.perf_counter()
            futures = [await producer.send(topic, payload) for _ in range(records)]
            await producer.flush()
            seconds = time.perf_counter() - began
            for future in futures:
                future.result()
            return seconds
        finally:
            await producer.stop()

    return asyncio.run(run())


def confluent(bootstrap: str, topic: str, size: int, acks: str, records: int) -> float:
    """Produce with confluent-kafka.

    Return the time in s. Raises RuntimeError for a failed record.
    """
    rate = confluent_clients.produce(bootstrap, topic, size=size, acks=acks, records=records)
    return records * size / MEGABYTE / rate


Client = Callable[[str, str, int, str, int], float]
CLIENTS: Final[Mapping[str, Client]] = {
    "ours": ours,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
    "confluent-kafka": confluent,
}


def measure(
    clients: Mapping[str, Client], bootstrap: str, size: int, acks: str, repeats: int, records: int
) -> dict[str, float]:
    """Return client → thousands of records a second, the median of the repeats.

    The clients take turns, and the order is reversed each time.
    """
    rates: dict[str, list[float]] = {name: [] for name in clients}
    names = list(clients)
    for _ in range(repeats):
        for name in names:
            seconds = clients[name](bootstrap, f"bench-{size}", size, acks, records)
            rates[name].append(records / seconds / 1_000)
        names.reverse()
    return {name: statistics.median(found) for name, found in rates.items()}


def measure_reading(
    clients: Mapping[str, ConsumerClient], bootstrap: str, size: int, repeats: int, records: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return two mappings: client → thousands of records a second, and client → µs for a record.

    The µs are processor time, which includes the start of the client. The values are medians of the
    repeats. The clients take turns as in `measure`. The topic must already have the records.
    """
    rates: dict[str, list[float]] = {name: [] for name in clients}
    used: dict[str, list[float]] = {name: [] for name in clients}
    names = list(clients)
    for _ in range(repeats):
        for name in names:
            before = time.process_time()
            rate = clients[name](bootstrap, f"read-{size}", PARTITIONS, size, records)
            rates[name].append(rate)
            used[name].append((time.process_time() - before) / records * 1_000_000)
        names.reverse()
    return (
        {name: statistics.median(found) for name, found in rates.items()},
        {name: statistics.median(found) for name, found in used.items()},
    )


def compare(report: Report, cell: str, found: Mapping[str, float]) -> None:
    """Add the rates of one line of the table, and our targets for them, to the report."""
    for name, rate in found.items():
        report.figure(f"{cell}: {name}, thousand records/s", rate)
    for peer, least in (("kafka-python", BESIDE_KAFKA_PYTHON), ("aiokafka", BESIDE_AIOKAFKA)):
        ratio = found["ours"] / found[peer] if peer in found else None
        report.target(f"{cell}: ours / {peer}", ratio, ">=", least)


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed."""
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument(
        "--records",
        type=int,
        metavar="N",
        help="records in one measurement (default 100,000 of 100 B and 40,000 of 1 KiB;"
        " three times as many are read)",
    )
    parser.add_argument("--only", choices=(SENDING, READING), help="measure this part only")
    add_repeats(parser, REPEATS)
    args = parser.parse_args(argv)
    clients, consumers = dict(CLIENTS), dict(CONSUMERS)
    if importlib.util.find_spec("aiokafka") is None:
        print(f"aiokafka is left out: {command_line('setup dev')} downloads it.", file=sys.stderr)
        del clients["aiokafka"], consumers["aiokafka"]
    report = Report(NAME)
    with running_cluster(NAME, brokers=1, props={"num.partitions": str(PARTITIONS)}) as cluster:
        servers = cluster.bootstrap_servers
        for size, usual in RECORDS.items():
            records = args.records or usual
            if args.only != READING:
                for client in clients.values():  # creates the topic; also a warm-up
                    client(servers, f"bench-{size}", size, "1", 1_000)
                for acks in ACKS:
                    found = measure(clients, servers, size, acks, args.repeats, records)
                    compare(report, f"{size} B, acks {acks}", found)
            if args.only != SENDING:
                records = args.records or 3 * usual
                ours(servers, f"read-{size}", size, "1", records)
                for consumer in consumers.values():
                    consumer(servers, f"read-{size}", PARTITIONS, size, 1_000)
                rates, used = measure_reading(consumers, servers, size, args.repeats, records)
                compare(report, f"{size} B, reading", rates)
                for name, micros in used.items():
                    report.figure(f"{size} B, reading: {name}, processor time µs/record", micros)
    report.show()
    if args.json:
        report.write(args.json)
    return 0
