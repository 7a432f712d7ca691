"""`kafka-edu bench failover`: create 3,000 partitions, then stop or kill a broker that leads 1,000.

Three brokers with RF 3 are compared with Apache Kafka 2.8.2 in the same run. Each of the two
clusters has its own Apache ZooKeeper, with the same version, settings and session time-out. Two
producers with acks=all write to 20 partitions that the victim leads (`failover_probes` explains the
two).

    creation          from the request until every broker shows every partition with a full ISR
    sigterm           SIGTERM to a broker that leads a third of the partitions and is not the
                      controller
    kill              kill -9 of such a broker: the session time-out, then the election
    controller-kill   kill -9 of the controller, which leads a third too. First there must be a new
                      controller, which reads the cluster from ZooKeeper
    small             on six partitions, kill after kill: from the deletion of the victim's znode
                      to the first acknowledged record of a partition it led

Each of the first four parts is measured once in a round, one after the other on one cluster. Each
round uses a new cluster. Figures are medians of the rounds. The two clusters take turns and do
not run at the same time, because brokers that follow 2,000 partitions are busy even without a load.
There is no warm-up before the creation. So the creation is measured on a cluster that has just
started. This is a larger disadvantage for a JVM than for our brokers. When the first broker is
killed, both clusters have been running for a minute or more.

After every measurement, FILE is written again with all figures so far. So a run that is stopped
keeps its results. A target without figures does not hold. A target also does not hold if its part
has failed in any round.
"""

import argparse
import contextlib
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import KafkaException
from kazoo.exceptions import KazooException  # type: ignore[import-untyped]  # kazoo has no types
from kazoo.handlers.threading import KazooTimeoutError  # type: ignore[import-untyped]  # nor here

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import ClusterError
from kafka_edu.zk.apache import ApacheZooKeeperError

from . import failover_table
from .apache_kafka import PeerMissing, kafka_jars
from .failover_peers import (
    Disturbed,
    Peer,
    ZnodeGone,
    all_led_by_others,
    create_topic,
    describe,
    running_peer,
    settle,
    wait_for_each,
)
from .failover_probes import ApplicationProbe, RawProbe
from .options import add_repeats

NAME = "failover"
HELP = (
    "create 3,000 partitions, stop and kill leaders of 1,000, compared with Apache Kafka 2.8.2"
    " (needs Java; half an hour)"
)

PEERS: Final = ("ours", "kafka")
LOSSES: Final = ("sigterm", "kill", "controller-kill")
PARTS: Final = ("creation", *LOSSES, "small")
TOPIC: Final = "failover"
PROBED: Final = 20
RAW_PROBED: Final = 5
SMALL_PARTITIONS: Final = 6
WARM_UP_S: Final = 3.0
"""Seconds for which the probes write before a signal, about 60 records to each partition.

After this time their code has been loaded and the load is steady.
"""
LIMIT_S: Final = 120.0
SLOWEST_CREATION: Final = 1.0
"""Limit for the creation time of kafka-edu divided by that of Apache Kafka."""
#: Exceptions that a round may end with although the benchmark has no bug.
FAILURES: Final = (
    ClusterError,
    PeerMissing,
    ApacheZooKeeperError,
    Disturbed,
    TimeoutError,
    subprocess.TimeoutExpired,
    KafkaException,
    KazooException,
    KazooTimeoutError,
)


class Loss(NamedTuple):
    """The measurements for one broker that was stopped or killed. All times are in s.

    `moved` is the time from the deletion of the znode until both other brokers show a leader for
    every partition.
    """

    gone: float
    """For SIGTERM, the time from the signal to the end of the process.

    For kill -9, the time from the signal to the deletion of the broker's znode.
    """
    moved: float
    gap: float
    """The longest gap between two acknowledgements of a partition, by the application's probe."""
    gap_compared: float
    """The same, only for the partitions to which the raw probe writes too."""
    gap_raw: float
    """The longest gap of these partitions, measured by the raw probe."""
    failed: int
    """Number of records that the application's client gave up."""

    @property
    def added(self) -> float:
        """The time that the client library adds to the time of the cluster, in s."""
        return max(0.0, self.gap_compared - self.gap_raw)


class Reaction(NamedTuple):
    """The result of one kill on the small cluster.

    It holds the seconds from the deletion of the victim's znode to the first acknowledged record of
    a partition that the victim led.
    """

    application: float
    raw: float
    controller: bool
    """Whether the victim was the controller."""


class Found:
    """All measurements of one cluster, in the order of the rounds."""

    def __init__(self) -> None:
        self.creation: list[float] = []
        self.losses: dict[str, list[Loss]] = {part: [] for part in LOSSES}
        self.small: list[Reaction] = []
        self.failed: Counter[str] = Counter()
        """Part → number of rounds in which the part did not finish."""

    def median(self, part: str, values: Iterable[float]) -> float | None:
        """Return the median of a part's values. A target is compared with this median.

        Return None if there are no values or a round failed, because the failed round would have
        been the slowest.
        """
        values = list(values)
        return statistics.median(values) if values and not self.failed[part] else None


def victim_of(leaders: Mapping[int, Sequence[int]], controller: int, wants_controller: bool) -> int:
    """Return the broker to stop: the controller, or the first broker that is not the controller."""
    return (
        controller
        if wants_controller
        else min(broker for broker in leaders if broker != controller)
    )


@contextlib.contextmanager
def probes(
    peer: Peer, partitions: Sequence[int], raw_partitions: Sequence[int]
) -> Iterator[tuple[ApplicationProbe, RawProbe]]:
    """Run both probes during the block.

    The block begins when a record has been acknowledged in each partition. After the block, both
    probes stop sending and wait for the answers to the records that they have sent.
    """
    application = ApplicationProbe(peer.bootstrap, TOPIC, partitions)
    raw = RawProbe(peer.addresses, TOPIC, raw_partitions)
    try:
        for probe in (application, raw):
            probe.start()
        wait_for_acks(application, raw, 0.0)
        yield application, raw
    finally:
        for probe in (application, raw):
            probe.finish()


def wait_for_acks(application: ApplicationProbe, raw: RawProbe, after: float) -> None:
    """Wait until both probes have an acknowledgement of each partition that is later than `after`.

    Raises TimeoutError.
    """
    end = time.monotonic() + LIMIT_S
    while not (application.acks.all_acked_after(after) and raw.acks.all_acked_after(after)):
        if time.monotonic() > end:
            raise TimeoutError(f"some partitions took no record within {LIMIT_S:g} s")
        time.sleep(0.02)  # The clients' threads record the acks. A callback would slow them.


def lose(peer: Peer, victim: int, leaders: Mapping[int, Sequence[int]], kill: bool) -> Loss:
    """Stop or kill a broker while the probes write to some of its partitions.

    Return the measurements. The function waits until all these partitions accept records again.
    """
    survivors = {broker: address for broker, address in peer.addresses.items() if broker != victim}
    partitions, probed = sum(map(len, leaders.values())), leaders[victim][:PROBED]
    with (
        ZnodeGone(peer.zookeeper, victim) as znode,
        probes(peer, probed, probed[:RAW_PROBED]) as (application, raw),
    ):
        time.sleep(WARM_UP_S)  # Normal work.
        began = time.monotonic()
        if kill:
            peer.kill(victim)
            gone = znode.wait(began, LIMIT_S)
        else:
            peer.stop(victim)
            gone = time.monotonic()
        wait_for_each(survivors, TOPIC, all_led_by_others(partitions, victim))
        moved = time.monotonic()
        wait_for_acks(application, raw, gone)
    return Loss(
        gone - began,
        moved - gone,
        application.acks.longest_gap(began),
        application.acks.longest_gap(began, raw.acks.of),
        raw.acks.longest_gap(began),
        len(application.failed),
    )


def measure(
    peer: Peer, part: str, partitions: int, kills: int, found: Found, tell: Callable[[str], None]
) -> None:
    """Measure one part of a round, and add the results to `found`.

    The earlier parts of the round must be done. `tell` is called with a text after each
    measurement.
    """
    match part:
        case "creation":
            seconds = create_topic(peer, TOPIC, partitions)
            found.creation.append(seconds)
            tell(f"{peer.name:6} creation         {seconds:6.1f} s")
        case "small":
            small_kills(peer, kills, found, tell)
        case _:
            leaders = settle(peer, TOPIC, partitions)
            victim = victim_of(
                leaders, describe(peer, TOPIC).controller_id, part == "controller-kill"
            )
            loss = lose(peer, victim, leaders, kill=part != "sigterm")
            found.losses[part].append(loss)
            tell(
                f"{peer.name:6} {part:16} gone {loss.gone:6.2f} s, moved {loss.moved:6.2f} s later;"
                f" longest gap {loss.gap:6.2f} s, raw {loss.gap_raw:6.2f} s, the client library's"
                f" part {loss.added:5.2f} s; {loss.failed} failed"
            )
            peer.start(victim)


def small_kills(peer: Peer, kills: int, found: Found, tell: Callable[[str], None]) -> None:
    """Kill the brokers in turn.

    Before each kill, all brokers have recovered from the previous kill.
    """
    create_topic(peer, TOPIC, SMALL_PARTITIONS)
    for i in range(kills):
        leaders = settle(peer, TOPIC, SMALL_PARTITIONS)
        victim = i % len(leaders)
        controller = describe(peer, TOPIC).controller_id == victim
        with (
            ZnodeGone(peer.zookeeper, victim) as znode,
            probes(peer, leaders[victim], leaders[victim]) as (application, raw),
        ):
            began = time.monotonic()
            peer.kill(victim)
            gone = znode.wait(began, LIMIT_S)
            wait_for_acks(application, raw, gone)
        reaction = Reaction(
            application.acks.first_after(gone) - gone, raw.acks.first_after(gone) - gone, controller
        )
        found.small.append(reaction)
        what = "the controller" if controller else "no controller"
        tell(
            f"{peer.name:6} small, kill {i + 1:2}    {what}: {reaction.application * 1000:5.0f} ms,"
            f" raw {reaction.raw * 1000:5.0f} ms"
        )
        peer.start(victim)


def run_round(
    name: str,
    jars: Path,
    parts: Sequence[str],
    partitions: int,
    kills: int,
    found: Found,
    tell: Callable[[str], None],
) -> None:
    """Measure the parts one after the other on a new cluster.

    If a failure ends the round, the parts that are not done count as failed.
    """
    left = list(parts)
    try:
        with running_peer(name, jars) as peer:
            while left:
                measure(peer, left[0], partitions, kills, found, tell)
                del left[0]
    except FAILURES as error:
        found.failed.update(left)
        tell(f"{name:6} failed: {', '.join(left) or 'only the end of the round'}: {error!r}")


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least the part `share` (0 to 1) of `values` does not
    exceed.
    """
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def report_of(found: Mapping[str, Found], partitions: int, parts: Sequence[str]) -> Report:
    """Report every figure of both clusters, and kafka-edu's targets for the given parts."""
    report = Report(NAME)
    report.figure("partitions", partitions)
    for name, of_peer in found.items():
        if of_peer.creation:
            report.figure(f"{name}: creation, rounds", len(of_peer.creation))
            report.figure(
                f"{name}: creation until every ISR is full, s", statistics.median(of_peer.creation)
            )
        for part, losses in of_peer.losses.items():
            if losses:
                report.figure(f"{name}: {part}, rounds", len(losses))
                ended = "process is gone" if part == "sigterm" else "znode is deleted"
                report.figure(
                    f"{name}: {part}, signal until the {ended}, s",
                    statistics.median(loss.gone for loss in losses),
                )
                report.figure(
                    f"{name}: {part}, from then until all leaders are moved, s",
                    statistics.median(loss.moved for loss in losses),
                )
                report.figure(
                    f"{name}: {part}, longest gap of a partition, s",
                    statistics.median(loss.gap for loss in losses),
                )
                report.figure(
                    f"{name}: {part}, longest gap, raw probe, s",
                    statistics.median(loss.gap_raw for loss in losses),
                )
                report.figure(
                    f"{name}: {part}, part of the gap that the client library adds, s",
                    statistics.median(loss.added for loss in losses),
                )
                report.figure(
                    f"{name}: {part}, failed produces, all rounds",
                    sum(loss.failed for loss in losses),
                )
        if of_peer.small:
            for which, times in (
                ("application", [reaction.application for reaction in of_peer.small]),
                ("raw probe", [reaction.raw for reaction in of_peer.small]),
                (
                    "raw probe, controller killed",
                    [reaction.raw for reaction in of_peer.small if reaction.controller],
                ),
            ):
                if times:
                    report.figure(
                        f"{name}: small, znode to first ack, {which}, median, ms",
                        1000 * statistics.median(times),
                    )
                    report.figure(
                        f"{name}: small, znode to first ack, {which}, p95, ms",
                        1000 * percentile(times, 0.95),
                    )
            report.figure(f"{name}: small, kills", len(of_peer.small))
        for part, rounds in of_peer.failed.items():
            report.figure(f"{name}: {part}, rounds that failed", rounds)
    _targets(report, parts, found.get("ours", Found()), found.get("kafka", Found()))
    return report


def _targets(report: Report, parts: Sequence[str], ours: Found, kafka: Found) -> None:
    if "creation" in parts:
        mine, theirs = (
            ours.median("creation", ours.creation),
            kafka.median("creation", kafka.creation),
        )
        ratio = None if mine is None or theirs is None else mine / theirs
        report.target(
            "creation until every ISR is full: ours / Apache Kafka 2.8.2",
            ratio,
            "<=",
            SLOWEST_CREATION,
        )
    for part in (part for part in LOSSES if part in parts):
        losses = ours.losses[part]
        gap = ours.median(part, (loss.gap for loss in losses))
        if part == "sigterm":
            failed = None if gap is None else sum(loss.failed for loss in losses)
            report.target(
                "sigterm: until the process is gone, s",
                ours.median(part, (loss.gone for loss in losses)),
                "<=",
                3.0,
            )
            report.target("sigterm: longest gap of a partition, s", gap, "<=", 1.0)
            report.target("sigterm: failed produces", failed, "==", 0)
        else:
            most_moved, most_gap = (1.0, 8.0) if part == "kill" else (2.0, 9.0)
            moved = ours.median(part, (loss.moved for loss in losses))
            report.target(
                f"{part}: all leaders moved, s after its znode went", moved, "<=", most_moved
            )
            report.target(f"{part}: longest gap of a partition, s", gap, "<=", most_gap)
    if "small" in parts:
        for which, times in (
            ("application", [r.application for r in ours.small]),
            ("raw probe", [r.raw for r in ours.small]),
        ):
            report.target(
                f"small: znode to first ack, {which}, median, ms",
                ours.median("small", (1000 * t for t in times)),
                "<=",
                300,
            )


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed.

    Return 1 if a round failed, and 2 if nothing could be measured.
    """
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE", help="written again after every measurement")
    add_repeats(parser, 3)
    parser.add_argument(
        "--kills", type=int, default=20, help="kills on the small cluster (default 20)"
    )
    parser.add_argument("--partitions", type=int, default=3000)
    parser.add_argument(
        "--only",
        choices=PARTS,
        action="append",
        help="only this part; creation runs before each part except small",
    )
    parser.add_argument(
        "--peer", choices=PEERS, action="append", help="measure only this one of the two peers"
    )
    parser.add_argument(
        "--table",
        metavar="FILE",
        help=(
            "print the table for docs/performance.md from a FILE that --json wrote, and measure"
            " nothing"
        ),
    )
    args = parser.parse_args(argv)
    if args.table:
        print(failover_table.table(Path(args.table)))
        return 0
    wanted = set(args.only or PARTS)
    many = (
        [part for part in PARTS if part in wanted | {"creation"} and part != "small"]
        if wanted - {"small"}
        else []
    )
    small = ["small"] if "small" in wanted else []
    names = args.peer or list(PEERS)
    found = {name: Found() for name in names}

    def write() -> Report:
        report = report_of(found, args.partitions, [*many, *small])
        if args.json:
            report.write(args.json)
        return report

    def tell(line: str) -> None:
        print(line, flush=True)
        write()

    try:
        jars = kafka_jars() if "kafka" in names else Path()
    except PeerMissing as error:
        print(f"bench failover cannot run: {error}", file=sys.stderr)
        return 2
    try:
        for parts in [many] * args.repeats + [small]:
            for name in names if parts else ():
                run_round(name, jars, parts, args.partitions, args.kills, found[name], tell)
    except BaseException:
        write()  # the measurements before the stop or the failure
        raise
    write().show()
    if not any(of_peer.creation or of_peer.small for of_peer in found.values()):
        return 2
    return 1 if any(of_peer.failed for of_peer in found.values()) else 0
