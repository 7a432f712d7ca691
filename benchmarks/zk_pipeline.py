"""`kafka-edu bench zk-pipeline`: how much time many ZooKeeper requests in flight save.

The requests are those with which a controller reads and writes partition states. For comparison,
the same requests are sent one by one.

One Apache ZooKeeper has the state znodes of 5,000 partitions. Our client reads and writes all of
them with 1, 10, 100 and 1,000 requests in flight. Each write is a multi that checks
/controller_epoch, as every write of the controller does. Plain kazoo does the same one by one, as
its users would do it: `get`, and a transaction of `check` and `set_data`. The ways are measured in
turn in each round, and figures are medians of the rounds.

A request that is sent alone costs a round trip: four changes of thread, two changes of process, the
server's work, and for a write the fsync of its log. Requests that are in flight at the same time
share these costs. What remains for each request is CPU time. So the figures give, in addition to
the wall time, the CPU time of the client and of the server for a request.

After every round, FILE is written again. If a round fails, no target holds, even if the earlier
rounds were good.
"""

import argparse
import asyncio
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types
from kazoo.exceptions import KazooException  # type: ignore[import-untyped]  # nor here
from kazoo.handlers.threading import KazooTimeoutError  # type: ignore[import-untyped]  # nor here

from kafka_edu.cli.report import Report
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.python_process import command_line
from kafka_edu.common.time import SystemTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.server.config.kafka_config import default_config
from kafka_edu.zk.apache import ApacheZooKeeper, ApacheZooKeeperError
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.kazoo_zk_client import KazooZkClient
from kafka_edu.zk.zk_data import ControllerEpochZNode, TopicAssignment, TopicPartitionStateZNode

from .options import add_repeats

NAME = "zk-pipeline"
HELP = (
    "1, 10, 100 and 1,000 requests in flight to ZooKeeper, compared with plain kazoo one by one"
    " (needs Java; a minute)"
)

PARTITIONS: Final = 5_000
IN_FLIGHT: Final = (1, 10, 100, 1_000)
OUR_DEFAULT: Final = 1_000
"""The default of zookeeper.max.in.flight.requests in kafka-edu. Kafka's default is 10."""
PLAIN: Final = "plain kazoo"
TIMES_FASTER: Final = 3.0
SESSION_MS: Final = 30_000
PROTOCOL: Final = default_config().inter_broker_protocol_version
TOPIC: Final = "pipeline"
EPOCH: Final = 1
TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


class Incomplete(Exception):
    """Not all states were read or written, so their total cost is unknown."""


#: Exceptions that a round may end with although the benchmark has no bug.
FAILURES: Final = (Incomplete, KazooException, KazooTimeoutError, ConnectionError, TimeoutError)


class Cost(NamedTuple):
    """The cost of one request, in µs."""

    wall: float
    client_cpu: float
    server_cpu: float


class Clock:
    """Measure three times of a block: wall time, and CPU time of the client and of the server."""

    def __init__(self, server_pid: int, requests: int) -> None:
        self._pid = server_pid
        self._requests = requests

    def start(self) -> None:
        self._began = time.perf_counter(), time.process_time(), cpu_seconds(self._pid)

    def stop(self) -> Cost:
        ended = time.perf_counter(), time.process_time(), cpu_seconds(self._pid)
        return Cost(
            *(
                (after - before) * 1e6 / self._requests
                for before, after in zip(self._began, ended, strict=True)
            )
        )


def cpu_seconds(pid: int) -> float:
    """Return another process's user and system time so far, in s. 0 if /proc does not have it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


Found = dict[str, dict[str, list[Cost]]]
""""read" or "write" → way → one cost for each round."""


def partitions_of(count: int) -> list[TopicPartition]:
    return [TopicPartition(TOPIC, number) for number in range(count)]


async def prepare(connect: str, count: int) -> None:
    """Create /controller_epoch and the state znodes. Broker 1 leads all partitions."""
    zk = KafkaZkClient(
        KazooZkClient(connect, SESSION_MS),
        SystemTime(),
        inter_broker_protocol=PROTOCOL,
        max_in_flight=IN_FLIGHT[-1],
    )
    await zk.start(lambda _: None, lambda _: None, SESSION_MS)
    await zk.create_top_level_paths()
    _, version = await zk.register_controller_and_increment_epoch(1)
    await zk.create_topic_assignment(TOPIC, TopicAssignment(None, {}))
    state = LeaderIsrAndControllerEpoch(LeaderAndIsr(1, 0, (1, 2, 3), 0), EPOCH)
    await zk.create_topic_partition_states(dict.fromkeys(partitions_of(count), state), version)
    await zk.close()


async def our_client(connect: str, in_flight: int, count: int, clock: Clock) -> tuple[Cost, Cost]:
    """Read and write all states with `in_flight` requests in flight.

    Return the cost of a read and the cost of a write.
    """
    zk = KafkaZkClient(
        KazooZkClient(connect, SESSION_MS),
        SystemTime(),
        inter_broker_protocol=PROTOCOL,
        max_in_flight=in_flight,
    )
    await zk.start(lambda _: None, lambda _: None, SESSION_MS)
    found = await zk.get_controller_epoch()
    assert found is not None
    clock.start()
    states = await zk.get_topic_partition_states(partitions_of(count))
    read = clock.stop()
    wanted = {tp: state.leader_and_isr.with_leader(2, (2, 3)) for tp, state in states.items()}
    clock.start()
    result = await zk.update_leader_and_isr(wanted, EPOCH, found[1])
    write = clock.stop()
    await zk.close()
    if len(states) != count or len(result.finished) != count:
        raise Incomplete(
            f"{len(states)} of {count} states were read, {len(result.finished)} written"
        )
    return read, write


def plain_kazoo(connect: str, count: int, clock: Clock) -> tuple[Cost, Cost]:
    """Read and write all states with kazoo, one after the other.

    Return the cost of a read and the cost of a write.
    """
    client = KazooClient(connect)
    client.start()
    paths = [TopicPartitionStateZNode.path(tp) for tp in partitions_of(count)]
    _, epoch = client.get(ControllerEpochZNode.PATH)
    clock.start()
    states = [client.get(path) for path in paths]
    read = clock.stop()
    clock.start()
    for path, (data, stat) in zip(paths, states, strict=True):
        transaction = client.transaction()
        transaction.check(ControllerEpochZNode.PATH, epoch.version)
        transaction.set_data(path, data, stat.version)
        transaction.commit()
    write = clock.stop()
    client.stop()
    client.close()
    return read, write


Way = Callable[[Clock], tuple[Cost, Cost]]


def ways_to(connect: str, count: int) -> dict[str, Way]:
    """Return name → function, for all ways to read and write `count` states."""
    ways: dict[str, Way] = {PLAIN: lambda clock: plain_kazoo(connect, count, clock)}
    for n in IN_FLIGHT:
        ways[f"{n} in flight"] = lambda clock, n=n: asyncio.run(
            our_client(connect, n, count, clock)
        )  # type: ignore[misc]  # mypy infers no type for `n=n`
    return ways


def measure(ways: Mapping[str, Way], clock: Clock, rounds: int) -> Iterator[Found]:
    """Measure all ways in turn. After each round, yield the results so far.

    The first round does not count.
    """
    found: Found = {"read": {way: [] for way in ways}, "write": {way: [] for way in ways}}
    for i in range(rounds + 1):
        costs = {way: run(clock) for way, run in ways.items()}
        if i:
            for way, (read, write) in costs.items():
                found["read"][way].append(read)
                found["write"][way].append(write)
            yield found


def report_of(found: Found, failed: bool = False) -> Report:
    """Report requests/s and the costs of each way.

    Also report how much faster each way is than plain kazoo, which works one by one.
    """
    report = Report(NAME)
    for kind in ("read", "write"):
        medians = {way: median_of(costs) for way, costs in found.get(kind, {}).items()}
        for way, cost in medians.items():
            report.figure(f"{kind}, {way}: requests/s", 1e6 / cost.wall)
            report.figure(f"{kind}, {way}: times plain kazoo", medians[PLAIN].wall / cost.wall)
            report.figure(f"{kind}, {way}: wall, µs a request", cost.wall)
            report.figure(f"{kind}, {way}: client's CPU, µs a request", cost.client_cpu)
            report.figure(f"{kind}, {way}: server's CPU, µs a request", cost.server_cpu)
        faster = (
            medians[PLAIN].wall / medians[f"{OUR_DEFAULT} in flight"].wall
            if medians and not failed
            else None
        )
        report.target(
            f"{kind}: {OUR_DEFAULT:,} in flight, times plain kazoo one by one",
            faster,
            ">=",
            TIMES_FASTER,
        )
    return report


def median_of(costs: Sequence[Cost]) -> Cost:
    return Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed.

    Return 1 if a round failed, and 2 if it cannot run on this machine.
    """
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE", help="written again after every round")
    add_repeats(parser, 5)
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    args = parser.parse_args(argv)
    logging.getLogger("kazoo").addHandler(
        logging.NullHandler()
    )  # If the benchmark ends early, ZooKeeper stops before the client.
    report = report_of({})
    code = 0
    with tempfile.TemporaryDirectory(
        prefix="kafka-edu-bench-", ignore_cleanup_errors=True
    ) as folder:
        zookeeper = ApacheZooKeeper(Path(folder), heap_mb=256)
        try:
            zookeeper.start()
        except ApacheZooKeeperError as error:
            print(f"bench zk-pipeline cannot run: {error}", file=sys.stderr)
            return 2
        found: Found = {}
        try:
            asyncio.run(prepare(zookeeper.connect_string, args.partitions))
            ways = ways_to(zookeeper.connect_string, args.partitions)
            for found in measure(ways, Clock(zookeeper.pid, args.partitions), args.repeats):
                report = report_of(found)
                if args.json:
                    report.write(args.json)
        except FAILURES as error:
            print(f"a round failed: {error!r}", file=sys.stderr)
            report, code = report_of(found, failed=True), 1
        finally:
            zookeeper.stop()
    report.show()
    if args.json:
        report.write(args.json)
    return code
