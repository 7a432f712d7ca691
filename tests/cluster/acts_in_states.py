"""Try every act of the supervisor's table of acts in all states of the cluster, on one real
cluster.

An act is something that a user requests, for example `kill` or `cut-link`. A case is a state of a
broker, a state of ZooKeeper, and an act. The test brings the cluster into the two states and
requests the act. In each case the act must be done, or be refused in one line that says why. No
process may end by itself, and after the last case the cluster must work again.
"""

import random
import re
import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.supervisor.act_table import ACTS, CLUSTER_ACTS, PROCESS_ACTS, RELAYED_ACTS, Act
from kafka_edu.supervisor.cluster import Cluster, ClusterError
from kafka_edu.trace.event import ZOOKEEPER, Source

PROPS: Final = {
    "zookeeper.session.timeout.ms": "4000",
    "zookeeper.connection.timeout.ms": "60000",
    "replica.lag.time.max.ms": "3000",
}
SUBJECT: Final = 0
"""The broker that is in the state."""
OTHER: Final = 1
LONGEST_S: Final = 80.0
"""No act takes so long: the client of the supervisor would give up after 90 s."""


_ON_TOPICS = ("create-topic", "add-partitions", "delete-topic")
"""They act on a topic of their own, which the other acts do not need."""


class BrokerIs(StrEnum):
    RUNNING = "running"
    STARTING = "starting"
    PAUSED = "paused"
    DEAD = "dead"


class ZooKeeperIs(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    DEAD = "dead"
    CUT = "cut off"
    """The broker's link to ZooKeeper is cut."""


class Case(NamedTuple):
    """An act in a state. `on` is the process that it acts on."""

    broker: BrokerIs
    zookeeper: ZooKeeperIs
    act: str
    on: Source
    other: int

    def __str__(self) -> str:
        return f"{self.act} of {self.on}, broker {self.broker}, zookeeper {self.zookeeper}"


class Outcome(NamedTuple):
    case: Case
    done: bool
    said: str
    took_s: float

    def __str__(self) -> str:
        word = "done" if self.done else "refused"
        return f"{self.case}: {word} after {self.took_s:.1f} s: {self.said}"


def all_cases() -> list[Case]:
    """Return all cases. The order is chosen so that the cluster rarely has to change its state."""
    broker, other = Source.of_broker(SUBJECT), Source.of_broker(OTHER)
    cases = []
    for zookeeper in ZooKeeperIs:
        for state in BrokerIs:
            for act in (*CLUSTER_ACTS, *RELAYED_ACTS, *PROCESS_ACTS):
                cases.append(Case(state, zookeeper, act.name, broker, OTHER))
                if "other" in act.parameters:  # the end in the state is named second, too
                    cases.append(Case(state, zookeeper, act.name, other, SUBJECT))
        if zookeeper is not ZooKeeperIs.CUT:
            for act in PROCESS_ACTS:
                cases.append(Case(BrokerIs.RUNNING, zookeeper, act.name, ZOOKEEPER, OTHER))
    return cases


def some_cases(seed: int, of_each: int) -> list[Case]:
    """Return a random sample of all cases: `of_each` cases of each act, and at least one case of
    each state.
    """
    chance = random.Random(seed)
    table = all_cases()
    chosen = {
        case
        for act in ACTS
        for case in chance.sample([case for case in table if case.act == act], of_each)
    }
    for broker in BrokerIs:
        for zookeeper in ZooKeeperIs:
            at = [case for case in table if case[:2] == (broker, zookeeper)]
            if not chosen.intersection(at):
                chosen.add(chance.choice(at))
    return [case for case in table if case in chosen]


class Stage:
    """A cluster of two brokers with relays, and methods that bring it into the states of a case."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._read = {path: path.stat().st_size for path in self._logs()}

    def _logs(self) -> Iterator[Path]:
        folder = self.cluster.folder
        yield from (folder.broker_log(broker) for broker in (SUBJECT, OTHER))
        yield from (folder.supervisor_log, folder.relay_log)

    def whole(self) -> None:
        """Bring everything up again, whatever state it is in."""
        cluster = self.cluster
        for link in cluster.status().links:
            values: dict[str, int | str] = {"broker": link.broker, "other": link.other}
            cluster.perform(f"heal-{link.side or 'link'}", values)
        for process in cluster.status().processes:
            if process.process in {stall.process for stall in cluster.status().stalls}:
                cluster.act("steady", process.source)
        for process in sorted(cluster.status().processes, key=lambda p: p.broker is not None):
            if process.source.broker is None and process.source != ZOOKEEPER:
                continue  # the relay, which the supervisor starts again by itself
            if process.state == "paused":
                cluster.act("resume", process.source)
            elif process.state == "stopped":
                cluster.act("start", process.source)
        cluster.wait_ready()

    def enter(self, broker: BrokerIs, zookeeper: ZooKeeperIs) -> None:
        """Bring the cluster from a whole one into these states."""
        cluster, subject = self.cluster, Source.of_broker(SUBJECT)
        match broker:
            case BrokerIs.PAUSED:
                cluster.act("pause", subject)
            case BrokerIs.DEAD | BrokerIs.STARTING:
                cluster.act("kill", subject)
        match zookeeper:
            case ZooKeeperIs.PAUSED:
                cluster.act("pause", ZOOKEEPER)
            case ZooKeeperIs.DEAD:
                cluster.act("kill", ZOOKEEPER)
            case ZooKeeperIs.CUT:
                cluster.perform("cut-zookeeper", {"broker": SUBJECT})
        if broker is BrokerIs.STARTING:
            cluster.act("start", subject)

    def state(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the states of all processes and of all links, which an act may change."""
        status = self.cluster.status()
        return tuple(p.state for p in status.processes), tuple(map(str, status.links))

    def ask(self, case: Case) -> Outcome:
        """Ask for the act."""
        values: dict[str, int | str] = {
            "broker": case.on.id,
            "other": case.other,
            "topic": "made" if case.act in _ON_TOPICS else "t",
            "partition": "t-0",
            "partitions": "8",
            "replicas": "1,0",
            "setting": "num.io.threads=4" if case.act == "broker-config" else "retention.ms=60000",
            "clients": "nobody",
            "delay_ms": 20,
            "stall_ms": 100,
            "every_ms": 1_000,
        }
        wanted: Act = ACTS[case.act]
        if case.on == ZOOKEEPER:
            values["zookeeper"] = case.on.id
        named = "zookeeper" if case.on == ZOOKEEPER else "broker"
        keys = [named if p.value == "broker" else p.value for p in wanted.parameters]
        values = {key: values[key] for key in keys}
        began = time.monotonic()
        try:
            said, done = self.cluster.perform(case.act, values), True
        except ClusterError as error:
            said, done = str(error), False
        return Outcome(case, done, said, time.monotonic() - began)

    def faults(self, outcome: Outcome) -> list[str]:
        """Return what is wrong with the outcome of a case, and with the cluster after this case."""
        return [
            f"{outcome}\n    {fault}"
            for fault in (
                *_faults_of_words(outcome.said),
                *(["it took too long"] if outcome.took_s > LONGEST_S else ()),
                *(self._not_done(outcome.case) if outcome.done else ()),
                *self._unasked_ends(outcome.case),
                *self._tracebacks(),
            )
        ]

    def _not_done(self, case: Case) -> Iterator[str]:
        """Yield what an act says that it did, and did not."""
        status = self.cluster.status()
        process = next(p for p in status.processes if p.source == case.on)
        links = {str(link) for link in status.links if (link.side or "link") in case.act}
        wanted = {"start": "running", "restart": "running", "resume": "running"} | {
            "stop": "stopped",
            "kill": "stopped",
            "pause": "paused",
        }
        # a broker that has started may have ended since: its ZooKeeper is gone
        if case.act in wanted and process.state not in (wanted[case.act], "stopped"):
            yield f"it is {process.state}"
        verb = case.act.partition("-")[0]
        if verb in ("slow", "cut", "heal"):
            word = {"slow": "slow by 20 ms", "cut": "is cut"}.get(verb)
            at = f"broker {case.on.id} " if not case.act.endswith("link") else ""
            there = [link for link in links if at in link]
            if word is None and there:
                yield f"links are left: {there}"
            if word is not None and not any(word in link for link in there):
                yield f"no link is so: {there}"

    def _unasked_ends(self, case: Case) -> Iterator[str]:
        """Yield the processes that ended by themselves with an error while ZooKeeper was running. A
        broker that starts without ZooKeeper may give up, so this is no fault.
        """
        for process in self.cluster.status().processes:
            ended = process.ended
            if process.state != "stopped" or not ended or ended.startswith("killed by SIG"):
                continue
            if ended != "ended with code 0" and case.zookeeper is ZooKeeperIs.RUNNING:
                yield f"{process.process} {ended}"

    def _tracebacks(self) -> Iterator[str]:
        """Yield the tracebacks in the logs since the last look."""
        for path, read in list(self._read.items()):
            with path.open("rb") as log:
                log.seek(read)
                said = log.read()
            self._read[path] = read + len(said)
            if b"Traceback" in said:
                yield f"{path.parent.name}/{path.name}: {said.decode(errors='replace')[-3000:]}"


def _faults_of_words(said: str) -> Iterator[str]:
    """Yield what is wrong with the one line that a person reads."""
    if not said.strip() or "\n" in said:
        yield "it is not one line"
    if re.search(
        r"\b[A-Z][a-z]+\w*(Error|Exception)\b|Traceback|Errno|the supervisor failed", said
    ):
        yield "it names an error of the program, not a reason"
    if len(said) > 400:
        yield "it is too long for one line"


def run(cluster: Cluster, cases: Sequence[Case], say: list[str]) -> list[str]:
    """Play all cases, and return the faults. A line about each case is appended to `say`."""
    stage = Stage(cluster)
    faults = []
    at: tuple[BrokerIs, ZooKeeperIs] | None = None
    before = None
    for case in cases:
        wanted = case.broker, case.zookeeper
        if at != wanted or stage.state() != before or case.broker is BrokerIs.STARTING:
            stage.whole()
            stage.enter(*wanted)
            at, before = wanted, stage.state()
        outcome = stage.ask(case)
        say.append(str(outcome))
        faults += stage.faults(outcome)
    stage.whole()
    return faults
