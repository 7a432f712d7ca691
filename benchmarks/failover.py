"""`kafka-edu bench failover`: what it takes to create 3,000 partitions, to stop a broker that leads 1,000 of them, and to lose it by kill -9.

Three brokers, RF 3, beside Apache Kafka 2.8.2 in the same run; both on an Apache ZooKeeper of their own, of the same version and settings, with the
same session time-out. Two producers with acks=all write to 20 partitions of the victim (`failover_probes` says why two).

    creation          from the request until every broker shows every partition with a full ISR
    sigterm           SIGTERM to a broker that leads a third of the partitions and is not the controller
    kill              kill -9 of such a broker: what the session time-out takes, then the election
    controller-kill   kill -9 of the controller, which leads a third too: a new controller first, which reads the cluster from ZooKeeper
    small             on six partitions, kill after kill: from the deletion of the victim's znode to the first acked record of a partition it led

Each of the first four is done once in a round, one after the other on one cluster; a round has a new cluster. Figures are medians over the rounds;
the peers take turns and do not stand together, for idle brokers with 2,000 followed partitions are not idle.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.cli.report import Report
from kafka_edu.cli.supervisor import ClusterError
from kafka_edu.zk.apache import ApacheZooKeeperError

from . import failover_table
from .apache_kafka import PeerMissing, kafka_jars
from .failover_peers import Peer, ZnodeGone, all_led_by_others, create_topic, describe, running_peer, settle, wait_for_each
from .failover_probes import ApplicationProbe, RawProbe

NAME = "failover"
HELP = "creating 3,000 partitions, stopping and killing leaders of 1,000, beside Apache Kafka 2.8.2 (needs Java; half an hour)"

PEERS: Final = ("ours", "kafka")
PARTS: Final = ("creation", "sigterm", "kill", "controller-kill", "small")
TOPIC: Final = "failover"
PROBED: Final = 20
RAW_PROBED: Final = 5
SMALL_PARTITIONS: Final = 6
WARM_UP_S: Final = 3.0
LIMIT_S: Final = 120.0
SLOWEST_CREATION: Final = 1.0
"""Ours / Apache Kafka's."""


class Loss(NamedTuple):
    """One broker stopped or killed; all in s. `moved`: from the znode's deletion until both others show a leader for every partition."""

    gone: float
    """From the signal to the end of the process (SIGTERM), or to the deletion of its znode (kill -9)."""
    moved: float
    gap: float
    """The longest of a partition, as the application sees it."""
    gap_compared: float
    """The same of those partitions that are probed raw too …"""
    gap_raw: float
    """… and as the raw probe sees it."""
    failed: int
    """Records that the application's client gave up."""

    @property
    def added(self) -> float:
        """What the client library adds to what the cluster takes."""
        return max(0.0, self.gap_compared - self.gap_raw)


class Reaction(NamedTuple):
    """One kill on the small cluster: seconds from the znode's deletion to the first acked record of a partition that the victim led."""

    application: float
    raw: float
    controller: bool
    """Whether the victim was the controller."""


class Found(NamedTuple):
    """What was measured of one peer, round by round."""

    creation: list[float]
    sigterm: list[Loss]
    kill: list[Loss]
    controller_kill: list[Loss]
    small: list[Reaction]


def victim_of(leaders: Mapping[int, Sequence[int]], controller: int, wants_controller: bool) -> int:
    """The controller, or the first broker that is not."""
    return controller if wants_controller else min(broker for broker in leaders if broker != controller)


def lose(peer: Peer, victim: int, probed: Sequence[int], kill: bool) -> Loss:
    """Stop or kill a broker while `probed`, partitions that it leads, are written to; returns when all of them are written to again."""
    survivors = {broker: address for broker, address in peer.addresses.items() if broker != victim}
    application = ApplicationProbe(peer.bootstrap, TOPIC, probed)
    raw = RawProbe(peer.addresses, TOPIC, probed[:RAW_PROBED])
    with ZnodeGone(peer.zookeeper, victim) as znode:
        for probe in (application, raw):
            probe.start()
        _wait_until(lambda: application.acks.all_acked_after(0) and raw.acks.all_acked_after(0), "the partitions to be written to")
        time.sleep(WARM_UP_S)
        began = time.monotonic()
        if kill:
            peer.kill(victim)
            gone = znode.wait(LIMIT_S)
        else:
            peer.stop(victim)
            gone = time.monotonic()
        wait_for_each(survivors, TOPIC, all_led_by_others(victim))
        moved = time.monotonic()
        after = max(gone, began)
        _wait_until(lambda: application.acks.all_acked_after(after) and raw.acks.all_acked_after(after), "the partitions to be written to again")
        for probe in (application, raw):
            probe.finish()
    return Loss(
        gone - began,
        moved - gone,
        application.acks.longest_gap(began),
        application.acks.longest_gap(began, raw.acks.of),
        raw.acks.longest_gap(began),
        len(application.failed),
    )


def _wait_until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + LIMIT_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {LIMIT_S:g} s for {what}")
        time.sleep(0.02)


def round_of(peer: Peer, parts: Sequence[str], partitions: int, found: Found, say: Callable[[str], None]) -> None:
    """The four parts on many partitions, as far as they are wanted."""
    seconds = create_topic(peer, TOPIC, partitions)
    found.creation.append(seconds)
    say(f"{peer.name:6} creation         {seconds:6.1f} s")
    for part, losses in (("sigterm", found.sigterm), ("kill", found.kill), ("controller-kill", found.controller_kill)):
        if part not in parts:
            continue
        leaders = settle(peer, TOPIC, partitions)
        victim = victim_of(leaders, describe(peer, TOPIC).controller_id, part == "controller-kill")
        loss = lose(peer, victim, leaders[victim][:PROBED], kill=part != "sigterm")
        losses.append(loss)
        say(
            f"{peer.name:6} {part:16} gone {loss.gone:6.2f} s, moved {loss.moved:6.2f} s later; longest gap {loss.gap:6.2f} s, "
            f"raw {loss.gap_raw:6.2f} s; {loss.failed} failed"
        )
        peer.start(victim)


def small_kills(peer: Peer, kills: int, found: Found, say: Callable[[str], None]) -> None:
    """Kill the brokers in turn, each when all have recovered from the kill before."""
    create_topic(peer, TOPIC, SMALL_PARTITIONS)
    for i in range(kills):
        leaders = settle(peer, TOPIC, SMALL_PARTITIONS)
        victim = i % len(leaders)
        controller = describe(peer, TOPIC).controller_id == victim
        application = ApplicationProbe(peer.bootstrap, TOPIC, leaders[victim])
        raw = RawProbe(peer.addresses, TOPIC, leaders[victim])
        with ZnodeGone(peer.zookeeper, victim) as znode:
            for probe in (application, raw):
                probe.start()
            _wait_until(lambda: application.acks.all_acked_after(0) and raw.acks.all_acked_after(0), "the partitions to be written to")  # noqa: B023
            peer.kill(victim)
            gone = znode.wait(LIMIT_S)
            _wait_until(lambda: application.acks.all_acked_after(gone) and raw.acks.all_acked_after(gone), "the partitions to be written to again")  # noqa: B023
            for probe in (application, raw):
                probe.finish()
        reaction = Reaction(application.acks.first_after(gone) - gone, raw.acks.first_after(gone) - gone, controller)
        found.small.append(reaction)
        what = "the controller" if controller else "no controller"
        say(f"{peer.name:6} small, kill {i + 1:2}    {what}: {reaction.application * 1000:5.0f} ms, raw {reaction.raw * 1000:5.0f} ms")
        peer.start(victim)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of `values` that at least `share` of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def report_of(found: Mapping[str, Found], partitions: int) -> Report:
    """Every figure of both peers, and the targets for ours."""
    report = Report(NAME)
    report.figure("partitions", partitions)
    for name, of_peer in found.items():
        if of_peer.creation:
            report.figure(f"{name}: creation until every ISR is full, s", statistics.median(of_peer.creation))
        for part, losses in (("sigterm", of_peer.sigterm), ("kill", of_peer.kill), ("controller-kill", of_peer.controller_kill)):
            if losses:
                ended = "process is gone" if part == "sigterm" else "znode is deleted"
                report.figure(f"{name}: {part}, signal until the {ended}, s", statistics.median(loss.gone for loss in losses))
                report.figure(f"{name}: {part}, from then until all leaders are moved, s", statistics.median(loss.moved for loss in losses))
                report.figure(f"{name}: {part}, longest gap of a partition, s", statistics.median(loss.gap for loss in losses))
                report.figure(f"{name}: {part}, longest gap, raw probe, s", statistics.median(loss.gap_raw for loss in losses))
                report.figure(f"{name}: {part}, of the gap the client library's part, s", statistics.median(loss.added for loss in losses))
                report.figure(f"{name}: {part}, failed produces, all rounds", sum(loss.failed for loss in losses))
        if of_peer.small:
            for which, times in (
                ("application", [reaction.application for reaction in of_peer.small]),
                ("raw probe", [reaction.raw for reaction in of_peer.small]),
                ("raw probe, controller killed", [reaction.raw for reaction in of_peer.small if reaction.controller]),
            ):
                if times:
                    report.figure(f"{name}: small, znode to first ack, {which}, median, ms", 1000 * statistics.median(times))
                    report.figure(f"{name}: small, znode to first ack, {which}, p95, ms", 1000 * percentile(times, 0.95))
            report.figure(f"{name}: small, kills", len(of_peer.small))
    if "ours" in found:
        _targets(report, found["ours"], found.get("kafka"))
    return report


def _targets(report: Report, ours: Found, kafka: Found | None) -> None:
    if ours.creation and kafka is not None and kafka.creation:
        ratio = statistics.median(ours.creation) / statistics.median(kafka.creation)
        report.target("creation until every ISR is full: ours / Apache Kafka 2.8.2", ratio, "<=", SLOWEST_CREATION)
    if ours.sigterm:
        report.target("sigterm: until the process is gone, s", statistics.median(loss.gone for loss in ours.sigterm), "<=", 3.0)
        report.target("sigterm: longest gap of a partition, s", statistics.median(loss.gap for loss in ours.sigterm), "<=", 1.0)
        report.target("sigterm: failed produces", sum(loss.failed for loss in ours.sigterm), "==", 0)
    for part, losses, most_moved, most_gap in (("kill", ours.kill, 1.0, 8.0), ("controller-kill", ours.controller_kill, 2.0, 9.0)):
        if losses:
            moved = statistics.median(loss.moved for loss in losses)
            report.target(f"{part}: all leaders moved, s after its znode went", moved, "<=", most_moved)
            report.target(f"{part}: longest gap of a partition, s", statistics.median(loss.gap for loss in losses), "<=", most_gap)
    if ours.small:
        for which, times in (("application", [r.application for r in ours.small]), ("raw probe", [r.raw for r in ours.small])):
            report.target(f"small: znode to first ack, {which}, median, ms", 1000 * statistics.median(times), "<=", 300)


def main(argv: list[str]) -> int:
    """Returns 0 when it ran, whether or not the targets hold; 2 when it cannot run here."""
    parser = argparse.ArgumentParser(prog=f"kafka-edu bench {NAME}", description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=20, help="on the small cluster")
    parser.add_argument("--partitions", type=int, default=3000)
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; creation goes before each but small")
    parser.add_argument("--peer", choices=PEERS, action="append", help="only this one of the two")
    parser.add_argument("--table", metavar="FILE", help="print the table for docs/performance.md from a FILE that --json wrote, and measure nothing")
    args = parser.parse_args(argv)
    if args.table:
        print(failover_table.table(Path(args.table)))
        return 0
    parts = args.only or list(PARTS)
    names = args.peer or list(PEERS)
    found = {name: Found([], [], [], [], []) for name in names}

    def say(line: str) -> None:
        print(line, flush=True)

    try:
        jars = kafka_jars() if "kafka" in names else Path()
        for _ in range(args.rounds if set(parts) - {"small"} else 0):
            for name in names:
                with running_peer(name, jars) as peer:
                    round_of(peer, parts, args.partitions, found[name], say)
        if "small" in parts:
            for name in names:
                with running_peer(name, jars) as peer:
                    small_kills(peer, args.kills, found[name], say)
    except (ClusterError, PeerMissing, ApacheZooKeeperError, TimeoutError, subprocess.TimeoutExpired) as error:
        print(f"bench failover cannot run: {error}", file=sys.stderr)
        return 2
    report = report_of(found, args.partitions)
    report.show()
    if args.json:
        report.write(args.json)
    return 0
