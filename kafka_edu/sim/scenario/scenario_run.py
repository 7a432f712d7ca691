"""Plays one scenario with one seed, and checks it.

The seed decides everything: the schedule of faults, the delays of the network, what clients send.
The same seed gives the same facts, byte for byte; `ScenarioResult.digest` is their hash. Nobody who
looks at a run changes it: the digest is computed from facts alone, and looking reads only.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.sim.scenario.acts import ENDS, VERBS, Act, Stage, Undo, draw
from kafka_edu.sim.scenario.checker import Evidence, Violation, check
from kafka_edu.sim.scenario.clients import Surroundings, make_clients
from kafka_edu.sim.scenario.history import History, Outcome
from kafka_edu.sim.scenario.language import LATENCY, Scenario, processes_of
from kafka_edu.sim.scenario.stored import stored_logs
from kafka_edu.sim.scenario.watch import Watch
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import DroppedEvents, SimCluster, coroutines_of_dead_processes
from kafka_edu.sim.sim_loop import SimLoop, SimulationStalledError
from kafka_edu.sim.times import show_ms
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Level
from kafka_edu.trace.wire_format import encode

LOOK_EVERY_MS: Final = 50
ZOOKEEPER_TICK_MS: Final = 500
STOP_CLIENTS_MS: Final = 1_500
"""How long the clients have to end in an orderly way, after everything was checked."""
PROPERTIES: Final = {
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "2000",
    "replica.socket.timeout.ms": "3000",
    "controller.socket.timeout.ms": "3000",
    "controlled.shutdown.retry.backoff.ms": "500",
    "leader.imbalance.check.interval.seconds": "5",
    "unclean.leader.election.enable": "false",
}
"""Short time-outs, so that a run of a few virtual seconds has sessions that expire, ISRs that
shrink, and elections.
"""


class ScenarioResult(NamedTuple):
    """The result of a run."""

    seed: int
    acts: tuple[Act, ...]
    violations: tuple[Violation, ...]
    digest: str
    """SHA-256 of all facts, in the format of a recording."""
    facts: int
    virtual_ms: int
    sent: int
    acked: int
    failed: int
    """How many records got an error, for example because their transaction was aborted."""
    read: int
    committed: int
    """How many transactions were committed."""
    new_sessions: int
    """How often a producer had to begin again."""

    @property
    def holds(self) -> bool:
        return not self.violations


class FactDigest:
    """The hash of all facts. Samples for a viewer are not part of it."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.count = 0

    def add(self, envelope: Envelope) -> None:
        if EVENT_TYPES[envelope.name].kind is Kind.FACT:
            self._hash.update(encode(envelope))
            self.count += 1

    def hex(self) -> str:
        return self._hash.hexdigest()

    def short(self) -> bytes:
        """Return the first 8 bytes of the hash of all facts up to now."""
        return self._hash.digest()[:8]


class ActByHand(NamedTuple):
    """An act that somebody makes while the run goes on, and who wants to know its result."""

    act: Act
    done: Callable[[bool], None]
    """Called with whether the act was possible, when its time has come."""


class Due(NamedTuple):
    """An act, or the end of one, whose time is to come."""

    at_ms: int
    order: int
    """An act that ends goes before one that begins at the same time."""
    number: int
    act: Act
    undo: Undo | None = None
    """What ends the act. None: the act is to begin."""
    done: Callable[[bool], None] = lambda _: None


class ScenarioRun:
    """One run of a scenario. `play` plays it to its end."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        acts: tuple[Act, ...] | None = None,
        on_fact: Callable[[Envelope], None] | None = None,
        level: Level = Level.STATE,
        slice_ms: int = LOOK_EVERY_MS,
        make_loop: Callable[[], SimLoop] = SimLoop,
    ) -> None:
        """With `acts`, play these; without, those of the scenario, or else what the seed draws.

        `level` is the level of the facts. An act by hand begins at the next multiple of `slice_ms`.
        `make_loop` returns the loop that decides what happens next.
        """
        self.scenario = scenario
        self.seed = seed
        brokers = range(1, scenario.brokers + 1)
        self.acts = acts if acts is not None else scenario.acts
        if acts is None and scenario.faults.verbs:
            self.acts += tuple(
                draw(
                    SeededRandom(f"{seed}/faults"),
                    scenario.faults.verbs,
                    scenario.brokers,
                    sum(map(processes_of, scenario.clients)),
                    scenario.run_ms,
                    scenario.faults.every_ms,
                )
            )
        replicas = min(3, scenario.brokers)
        properties = dict(scenario.properties_for(seed))
        latency_ms = float(properties.pop(LATENCY, 0))
        self.cluster = SimCluster(
            seed,
            list(brokers),
            {
                **PROPERTIES,
                "offsets.topic.replication.factor": str(replicas),
                "transaction.state.log.replication.factor": str(replicas),
                "transaction.state.log.min.isr": str(min(2, replicas)),
                **properties,
            },
            level=level,
            zookeeper_tick_ms=ZOOKEEPER_TICK_MS,
            make_random=SeededRandom,
            make_loop=make_loop,
        )
        if latency_ms:
            self.cluster.network.latency_ms = (latency_ms / 10, latency_ms)
        self._slice_ms = slice_ms
        self._looked_ms = 0
        self._due: list[Due] = []
        self._number = 0
        self._digest = FactDigest()
        self.cluster.sink.events = DroppedEvents()
        self.cluster.sink.listeners.append(self._digest.add)
        if on_fact is not None:
            self.cluster.sink.listeners.append(on_fact)
        self.history = History()
        self._watch = Watch(self.cluster)
        self._partitions = {topic.name: topic.partitions for topic in scenario.topics}
        around = Surroundings(self.cluster, self.history, self._partitions, seed)
        self._clients = [
            (line.kind, client)
            for line in scenario.clients
            for client in make_clients(around, line)
        ]
        self._stage = Stage(
            self.cluster, self._start, [client.process for _, client in self._clients]
        )
        self._violations: list[Violation] = []
        self._begun_ms: int | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the cluster is up, so that the time of the run counts."""
        return self._begun_ms is not None

    @property
    def begun_us(self) -> int:
        """The virtual time at which the run has begun, in µs. 0: it has not."""
        return 1_000 * (self._begun_ms or 0)

    def now_ms(self) -> int:
        """Return the virtual ms since the run has begun; before it, since the cluster's start."""
        return self.cluster.time.hi_res_clock_ms() - (self._begun_ms or 0)

    def act_by_hand(self, asked: ActByHand) -> Act:
        """Let an act begin at the next multiple of `slice_ms`, and return it with this time.

        Raises ValueError if acts are not possible now.
        """
        now_ms, run_ms = self.now_ms(), self.scenario.run_ms
        if not self.has_begun:
            raise ValueError("the cluster is still starting: acts are possible when it is up")
        at_ms = now_ms - now_ms % self._slice_ms + self._slice_ms
        if at_ms >= run_ms:
            raise ValueError(
                f"acts are possible in the first {show_ms(run_ms)} of this run; then it is quiet"
                " before the check. Go back in time, or give the scenario a longer `> run`"
            )
        act = asked.act._replace(at_ms=at_ms)
        self._due.append(Due(at_ms, 1, self._number, act, done=asked.done))
        self._number += 1
        self.acts += (act,)
        return act

    def forget_acts(self, acts: Sequence[Act]) -> None:
        """Leave out these acts. They have not begun yet."""
        self._due = [due for due in self._due if due.undo is not None or due.act not in acts]
        self.acts = tuple(act for act in self.acts if act not in acts)

    def open_acts(self) -> list[Act]:
        """Return the acts that have begun and not ended."""
        return [due.act for due in self._due if due.undo is not None]

    def play(self) -> ScenarioResult:
        """Play the run to its end, and return its result."""
        with coroutines_of_dead_processes():
            try:
                self._play()
            except (AssertionError, SimulationStalledError) as error:
                self._fail("no uncaught error", str(error))
            virtual_ms = self.cluster.time.hi_res_clock_ms()
            self.cluster.close()
        history = self.history
        return ScenarioResult(
            self.seed,
            self.acts,
            tuple(self._violations),
            self._digest.hex(),
            self._digest.count,
            virtual_ms,
            len(history.sent),
            len(history.acked),
            len(history.failed),
            len(history.reads),
            history.transactions.count(Outcome.COMMITTED),
            len(history.new_sessions),
        )

    def _play(self) -> None:
        cluster, scenario = self.cluster, self.scenario
        cluster.start_all()
        admin = SimClient(cluster)
        for topic in scenario.topics:
            made = cluster.run_as(
                admin.process,
                admin.create_topic(
                    topic.name, topic.partitions, topic.replication_factor, dict(topic.configs)
                ),
            )
            if made is not Errors.NONE:
                raise AssertionError(f"topic {topic.name} could not be created: {made.name}")
        cluster.advance(500)
        self._begun_ms = cluster.time.hi_res_clock_ms()
        tasks = {
            client.process.name: cluster.loop.spawn(client.process, client.run())
            for _, client in self._clients
        }
        self._act_until(scenario.run_ms)
        for kind, client in self._clients:
            if kind in ("producer", "transactions"):
                client.stop()
        self._look_until(scenario.run_ms + scenario.settle_ms)
        self._violations += check(
            Evidence(
                scenario, cluster, self.history, self._watch, stored_logs(cluster, self._partitions)
            )
        )
        for _, client in self._clients:
            client.stop()
        self._look_until(scenario.run_ms + scenario.settle_ms + STOP_CLIENTS_MS)
        for name, task in tasks.items():
            if not task.done():
                self._fail("clients end", f"{name} has not ended long after the last fault")
            elif (error := task.exception()) is not None:
                self._fail("clients end", f"{name} ended with {error!r}")

    def _act_until(self, run_ms: int) -> None:
        """Let the run's time pass, with its acts. At its end everything is healed."""
        self._due += [Due(act.at_ms, 1, at, act) for at, act in enumerate(self.acts)]
        self._number = len(self.acts)
        while self.now_ms() < run_ms or self._due:
            self._due.sort(key=lambda due: due[:3])
            at_ms = min(self._due[0].at_ms, run_ms) if self._due else run_ms
            if self.now_ms() < at_ms:
                self._look_once(at_ms)  # meanwhile, somebody may make an act by hand
            elif (due := self._due.pop(0)).undo is not None:
                due.undo()
            elif due.act.at_ms < run_ms:
                due.done(self._begin(due, run_ms))

    def _begin(self, due: Due, run_ms: int) -> bool:
        """Let an act begin. Return whether it was possible."""
        act = due.act
        if act.verb in ENDS:
            ended = [
                one
                for one in self._due
                if one.undo is not None
                and one.act.verb in ENDS[act.verb].ends
                and set(one.act.who) == set(act.who)
            ]
            for one in ended:
                assert one.undo is not None
                self._due.remove(one)
                one.undo()
            return bool(ended)
        undo = VERBS[act.verb].begin(self._stage, act)
        if undo is not None and VERBS[act.verb].for_ms is not None:
            at_ms = act.at_ms + act.for_ms if act.for_ms else run_ms
            self._due.append(Due(at_ms, 0, due.number, act, undo))
        return undo is not None

    def _look_until(self, at_ms: int) -> None:
        """Let virtual time pass until `at_ms` of the run, and look at the brokers now and then."""
        while self.now_ms() < at_ms:
            self._look_once(at_ms)

    def _look_once(self, at_ms: int) -> None:
        """Let one slice of virtual time pass, at most until `at_ms` of the run."""
        now_ms = self.now_ms()
        self.cluster.advance(min(at_ms - now_ms, self._slice_ms))
        if at_ms == self.now_ms() or self.now_ms() - self._looked_ms >= LOOK_EVERY_MS:
            self._looked_ms = self.now_ms()
            self._watch.look()

    def _start(self, broker: int) -> None:
        """Start a broker that is down. A start that fails is a violation."""
        if self.cluster.brokers[broker].server is not None:
            return
        task = self.cluster.begin_start(broker)
        process = self.cluster.brokers[broker].process

        def started(_: object) -> None:
            if process.alive and (error := task.exception()) is not None:
                self._fail("brokers start", f"broker {broker} did not start: {error!r}")

        task.add_done_callback(started)

    def _fail(self, rule: str, text: str) -> None:
        self._violations.append(Violation(rule, text))


def play(scenario: Scenario, seed: int, acts: tuple[Act, ...] | None = None) -> ScenarioResult:
    """Play a scenario with a seed. Takes about a second on one core for 20 virtual seconds."""
    return ScenarioRun(scenario, seed, acts).play()
