"""`kafka-edu bench codecs`: the CPU time of encoding and decoding frequent messages.

The CPU time is compared with that of kafka-python, which decodes the same bytes. Each figure is the
CPU time of one call, the best of five rounds. A warm-up before these rounds generates the code for
the message's version.
"""

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

from kafka.protocol.consumer.fetch import FetchRequest as PythonFetchRequest
from kafka.protocol.producer.produce import ProduceRequest as PythonProduceRequest

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

from .options import add_repeats

NAME = "codecs"
HELP = "read and write the hot path's messages; kafka-python reads them too (ten seconds)"

ROUNDS = 5
CALLS = 2_000
PARTITIONS = 100
PRODUCE_VERSION = 9
FETCH_VERSION = 12
PRODUCE_US = 15
FETCH_US = 400


class Case(NamedTuple):
    """One message: our codec reads and writes it, and kafka-python reads it."""

    name: str
    decode: Callable[[], object]
    encode: Callable[[], object]
    their_decode: Callable[[], object]


def microseconds(call: Callable[[], object], rounds: int) -> float:
    """Return the CPU time of one call in µs, the best of `rounds` rounds."""
    for _ in range(CALLS // 10):
        call()
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(CALLS):
            call()
        best = min(best, (time.process_time() - began) / CALLS)
    return best * 1_000_000


def produce_case() -> Case:
    """Return the case of a produce request for one partition with 64 KiB of records.

    Neither our codec nor that of kafka-python decodes the records.
    """
    entry = PartitionProduceData(index=3, records=b"r" * 65_536)
    ours = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name="web", partition_data=[entry])],
    )
    data = ours.encode(PRODUCE_VERSION)
    return Case(
        f"Produce v{PRODUCE_VERSION}, one partition",
        lambda: ProduceRequest.decode(data, PRODUCE_VERSION),
        lambda: ours.encode_parts(PRODUCE_VERSION),
        lambda: PythonProduceRequest.decode(data, version=PRODUCE_VERSION),
    )


def fetch_case() -> Case:
    """Return the case of a fetch request for a hundred partitions."""
    partitions = [
        FetchPartition(
            partition=i, fetch_offset=1_000 * i, log_start_offset=-1, partition_max_bytes=1 << 20
        )
        for i in range(PARTITIONS)
    ]
    ours = FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=52_428_800,
        topics=[FetchTopic(topic="web", partitions=partitions)],
    )
    data = ours.encode(FETCH_VERSION)
    return Case(
        f"Fetch v{FETCH_VERSION}, {PARTITIONS} partitions",
        lambda: FetchRequest.decode(data, FETCH_VERSION),
        lambda: ours.encode_parts(FETCH_VERSION),
        lambda: PythonFetchRequest.decode(data, version=FETCH_VERSION),
    )


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed."""
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    add_repeats(parser, ROUNDS)
    args = parser.parse_args(argv)
    report = Report(NAME)
    for case, target in ((produce_case(), PRODUCE_US), (fetch_case(), FETCH_US)):
        decode = microseconds(case.decode, args.repeats)
        for name, value in (
            ("decode", decode),
            ("encode", microseconds(case.encode, args.repeats)),
            ("decode, kafka-python", microseconds(case.their_decode, args.repeats)),
        ):
            report.figure(f"{case.name}: {name}, µs", value)
        report.target(f"{case.name}: decode, µs", decode, "<=", target)
    report.show()
    if args.json:
        report.write(args.json)
    return 0
