"""Play one scenario with one seed, and check the result.

The seed decides everything: the schedule of faults, the delays of the network, what clients send.
The same seed gives the same facts, byte for byte; `ScenarioResult.digest` is their hash. The digest
does not include samples for viewers, so it is the same if somebody watches the run.
"""

import asyncio
import hashlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import nullcontext
from typing import Final, NamedTuple

from kafka_edu.clients.admin.topic_calls import usual_replicas
from kafka_edu.common.errors import Errors
from kafka_edu.learner.seams import LearnerError
from kafka_edu.sim.learner_parts import seams_by_process
from kafka_edu.sim.scenario.acts import ACTS, ENDS, Act, Stage, Undo, draw
from kafka_edu.sim.scenario.admin_acts import ActFailedError, Asks
from kafka_edu.sim.scenario.checker import (
    Evidence,
    Violation,
    check,
    forgotten_beginnings,
    late_ends,
)
from kafka_edu.sim.scenario.clients import Surroundings, make_clients
from kafka_edu.sim.scenario.history import History, Outcome
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.scenario.settings import CLUSTER, KAFKAS_TIMES, LATENCY, SHORT_TIMES
from kafka_edu.sim.scenario.stored import ends_out_of_sync, stored_logs
from kafka_edu.sim.scenario.watch import Watch
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import (
    START_LIMIT_MS,
    DroppedEvents,
    SimBroker,
    SimCluster,
    coroutines_of_dead_processes,
)
from kafka_edu.sim.sim_loop import Passage, SimLoop, SimProcess, SimulationStalledError
from kafka_edu.sim.times import show_ms
from kafka_edu.trace.event import EVENT_TYPES, SUPERVISOR, Envelope, Kind, Level, Source
from kafka_edu.trace.events.supervisor import ActionAsked, ActionDone
from kafka_edu.trace.wire_format import encode

LOOK_EVERY_MS: Final = 50
ZOOKEEPER_TICK_MS: Final = 500
QUIET_MS: Final = 1_000
"""How long after the last election everything is checked. A controller elects preferred leaders
every few seconds, and with slow links a broker knows of it only later.
"""
CATCH_UP_MS: Final = 1_000
"""How often it is looked whether the replicas that are not in sync have fetched more. With slow
links and small fetches a replica may need longer than the whole settle time.
"""
STOP_CLIENTS_MS: Final = 1_500
"""How long the clients have to end in an orderly way, after everything was checked."""
LATE_CLIENTS_MS: Final = 30_000
"""How long a client may need in the worst case. A broker reads no LeaveGroup of a member before it
has answered the member's JoinGroup on the same connection. And that waits for members that are gone
until their sessions end.
"""
KAFKAS_TICK_MS: Final = 2_000

NOT_POSSIBLE: Final = "not possible now, so nothing was done"


class ActName(NamedTuple):
    """How the supervisor of a real cluster names an act."""

    name: str
    title: str


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
    late: int
    """How many transactions were not checked, because a late request has ended them."""
    forgotten: int
    """How many were not checked, because their coordinator may have forgotten their beginning."""

    @property
    def holds(self) -> bool:
        return not self.violations


class FactDigest:
    """The hash of all facts of a run. Samples for viewers are not included."""

    SHORT_BYTES: Final = 2

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
        """Return the first SHORT_BYTES bytes of the hash of all facts up to now."""
        return self._hash.digest()[: self.SHORT_BYTES]


class ActByHand(NamedTuple):
    """An act that a user makes while the run continues, and the function that gets its result."""

    act: Act
    done: Callable[[bool, str], None]
    """Called when the act has been done, or was not possible: with which of both it was, and with
    the reason.
    """


class Due(NamedTuple):
    """An act, or the end of one, whose time is to come."""

    at_ms: int
    order: int
    """An act that ends goes before one that begins at the same time."""
    number: int
    act: Act
    undo: Undo | None = None
    """What ends the act. None: the act is to begin."""
    done: Callable[[bool, str], None] = lambda ok, why: None


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
        names_act: Callable[[Act], ActName] = lambda act: ActName(act.verb, ""),
        ranked: bool = False,
        digest: FactDigest | None = None,
    ) -> None:
        """With `acts`, play these acts. Otherwise play the scenario's acts, or acts from the seed.

        `level` is the level of the facts. An act by hand begins at the next multiple of `slice_ms`.
        `make_loop` returns the loop that decides what happens next. `names_act` returns the name of
        an act for the facts of the supervisor, if the scenario has one. With `ranked`, the sink of
        the cluster knows the rank of each event. `digest` gets the facts of the run, each one
        before `on_fact` gets it.
        """
        self.scenario = scenario
        self.seed = seed
        brokers = scenario.broker_ids
        self.acts = acts if acts is not None else scenario.acts
        if acts is None and scenario.faults.verbs:
            self.acts += tuple(
                draw(
                    SeededRandom(f"{seed}/faults"),
                    scenario.faults.verbs,
                    brokers,
                    scenario.processes,
                    scenario.run_ms,
                    scenario.faults.every_ms,
                )
            )
        replicas = usual_replicas(scenario.brokers)
        properties = dict(scenario.properties_for(seed))
        latency_ms = float(properties.pop(LATENCY, 0))
        real = properties.pop(CLUSTER, "") == "real"
        self.cluster = SimCluster(
            seed,
            list(brokers),
            {
                **(KAFKAS_TIMES if real else SHORT_TIMES),
                "offsets.topic.replication.factor": str(replicas),
                "transaction.state.log.replication.factor": str(replicas),
                "transaction.state.log.min.isr": str(min(2, replicas)),
                **properties,
            },
            level=level,
            zookeeper_tick_ms=KAFKAS_TICK_MS if real else ZOOKEEPER_TICK_MS,
            make_random=SeededRandom,
            make_loop=make_loop,
            learners=scenario.learners,
            ranked=ranked,
        )
        if latency_ms:
            self.cluster.network.latency_ms = (latency_ms / 10, latency_ms)
        self._names_act = names_act
        self.cluster.supervised = real
        self._slice_ms = slice_ms
        self._looked_ms = 0
        self._asking: dict[asyncio.Task[None], Callable[[bool, str], None]] = {}
        """The requests for acts that the cluster has not answered yet, each with the function that
        gets the answer.
        """
        self._due: list[Due] = []
        self._number = 0
        self._digest = FactDigest() if digest is None else digest
        self.cluster.sink.events = DroppedEvents()
        self.cluster.sink.listeners.append(self._digest.add)
        if on_fact is not None:
            self.cluster.sink.listeners.append(on_fact)
        self.history = History()
        self._watch = Watch(self.cluster)
        self._partitions = {topic.name: topic.partitions for topic in scenario.topics}
        self._around = around = Surroundings(self.cluster, self.history, self._partitions, seed)
        self._clients = [
            (line.kind, client)
            for line in scenario.clients
            for client in make_clients(around, line)
        ]
        self._stage = Stage(
            self.cluster, self._start, [client.process for _, client in self._clients]
        )
        self._violations: list[Violation] = []
        self._late = self._forgotten = 0
        self._begun_ms: int | None = None
        self.result: ScenarioResult | None = None
        """The result of the run, when it has come to its end."""

    @property
    def has_begun(self) -> bool:
        """Whether the cluster is up, so that the time of the run counts."""
        return self._begun_ms is not None

    @property
    def begun_us(self) -> int:
        """The virtual time at which the run has begun, in µs; 0 if the run has not begun."""
        return 1_000 * (self._begun_ms or 0)

    def now_ms(self) -> int:
        """Return the virtual ms since the run has begun. Before that, return the ms since the
        cluster's start.
        """
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
        """Remove these acts, which have not begun yet. An equal act that is a different object
        stays.
        """
        gone = {id(act) for act in acts}
        self._due = [due for due in self._due if due.undo is not None or id(due.act) not in gone]
        self.acts = tuple(act for act in self.acts if id(act) not in gone)

    def loads(self) -> int:
        """Return how many acts `load` have begun and not ended."""
        return sum(due.undo is not None and due.act.verb == "load" for due in self._due)

    def why_impossible(self, act: Act) -> str:
        """Return why an act does nothing now, and what to do. Return "" if that is not known."""
        if not act.who:
            return ""
        broker = self.cluster.brokers[act.who[0]]
        if act.verb == "start":
            return self._why_no_start(broker)
        if act.verb == "resume":
            return f"Broker {broker.id} is not paused."
        if act.verb in ENDS:
            return "There is nothing to heal."
        if broker.server is None:
            return f"Broker {broker.id} is down. Start it first."
        if broker.process.paused:
            return f"Broker {broker.id} is paused. Resume it first."
        return f"Broker {broker.id} has no session with ZooKeeper now. Try again a little later."

    def _why_no_start(self, broker: SimBroker) -> str:
        """Return why a broker cannot be started by hand now. Either the broker runs, or an act of
        the seed has stopped several brokers and will start them together.
        """
        if broker.server is not None:
            return f"Broker {broker.id} runs."
        for due in self._due:
            if due.undo is not None and due.act.verb == "kill-all":
                return (
                    f"`{due.act}` has killed all brokers, and starts them at"
                    f" {show_ms(due.at_ms)}. Let the run go on until then"
                )
        return f"Broker {broker.id} is on its way down. Try again a little later."

    def play(self) -> ScenarioResult:
        """Play the run to its end, and return its result."""
        for _ in self._turns(self.cluster.loop.at_once):
            pass
        assert self.result is not None
        return self.result

    def turns(self) -> Generator[int, None, None]:
        """Play the run to its end. Before each callback, yield the virtual time in ns to which the
        clock is about to go, as `SimLoop.turns` does. At the end `result` is set.
        """
        return self._turns(self.cluster.loop.turns)

    def _played(self, turns_of: Callable[[Passage], Iterator[int]]) -> Generator[int, None, None]:
        """Play all passages of virtual time. If an error ends the run, record it as a violation of
        a rule.
        """
        try:
            for passage in self._passages():
                yield from turns_of(passage)
                if passage.task is None:
                    self.cluster.raise_uncaught()
        except (AssertionError, SimulationStalledError) as error:
            self._fail("no uncaught error", str(error))
        except LearnerError as error:
            self._fail("brokers start", f"a learner's part cannot be loaded: {error}")

    def _turns(self, turns_of: Callable[[Passage], Iterator[int]]) -> Generator[int, None, None]:
        exercises = [part.exercise for part in self.scenario.learners]
        with coroutines_of_dead_processes(), seams_by_process(exercises):
            try:
                yield from self._played(turns_of)
                for done in list(self._asking.values()):
                    done(False, "the run has ended before the cluster answered")
                virtual_ms = self.cluster.time.hi_res_clock_ms()
            finally:  # even if a user leaves the run before its end
                self.cluster.close()
        history = self.history
        self.result = ScenarioResult(
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
            self._late,
            self._forgotten,
        )

    def _passages(self) -> Iterator[Passage]:
        """Yield the passages of virtual time of which the run consists."""
        cluster, scenario = self.cluster, self.scenario
        yield from cluster.start_in_passages()
        admin = SimClient(cluster)
        for topic in scenario.topics:
            making = cluster.loop.spawn(
                admin.process,
                admin.create_topic(
                    topic.name, topic.partitions, topic.replication_factor, dict(topic.configs)
                ),
            )
            yield Passage(START_LIMIT_MS, making)
            if (made := making.result()) is not Errors.NONE:
                raise AssertionError(f"topic {topic.name} could not be created: {made.name}")
        yield Passage(500)
        self._begun_ms = cluster.time.hi_res_clock_ms()
        self._around.begun_ms = self._watch.begun_ms = self._begun_ms
        tasks = {
            client.process.name: cluster.loop.spawn(client.process, client.run())
            for _, client in self._clients
        }
        yield from self._act_until(scenario.run_ms)
        for kind, client in self._clients:
            if kind in ("producer", "transactions"):
                client.stop()
        yield from self._look_until(scenario.run_ms + scenario.settle_ms)
        yield from self._look_until(self._watch.elected_ms + QUIET_MS)
        yield from self._look_while_replicas_catch_up()
        logs = stored_logs(cluster, self._partitions)
        late = late_ends(scenario, self.history, self._watch, cluster.network.late_ms)
        forgotten = forgotten_beginnings(scenario, self.history, self._watch) - late
        self._late, self._forgotten = len(late), len(forgotten)
        self._violations += check(
            Evidence(scenario, cluster, self.history, self._watch, logs, late | forgotten)
        )
        for _, client in self._clients:
            client.stop()
        end_ms = self.now_ms() + STOP_CLIENTS_MS
        yield from self._look_until(end_ms)
        for late_ms in range(1_000, LATE_CLIENTS_MS + 1, 1_000):
            if all(task.done() for task in tasks.values()):
                break
            yield from self._look_until(end_ms + late_ms)
        for name, task in tasks.items():
            if not task.done():
                self._fail("clients end", f"{name} has not ended long after the last fault")
            elif (error := task.exception()) is not None:
                self._fail("clients end", f"{name} ended with {error!r}")

    def _act_until(self, run_ms: int) -> Iterator[Passage]:
        """Let the run's time pass until `run_ms`, and begin the acts that are due. At the end, end
        all faults.
        """
        self._due += [Due(act.at_ms, 1, at, act) for at, act in enumerate(self.acts)]
        self._number = len(self.acts)
        while self.now_ms() < run_ms or self._due:
            self._due.sort(key=lambda due: due[:3])
            at_ms = min(self._due[0].at_ms, run_ms) if self._due else run_ms
            if self.now_ms() < at_ms:
                yield from self._look_once(at_ms)  # a user may make an act meanwhile
            elif (due := self._due.pop(0)).undo is not None:
                due.undo()
            elif due.act.at_ms < run_ms:
                self._begin(due, run_ms)

    def _begin(self, due: Due, run_ms: int) -> None:
        """Begin an act. If acts have names, emit the events that a supervisor would emit."""
        act = due.act
        supervisor, asked = self.cluster.supervisor, 0
        verb = ACTS.get(act.verb) or ENDS[act.verb]
        of_broker = act.who and not verb.of_clients
        target = Source.of_broker(act.who[0]) if of_broker else SUPERVISOR
        name, title = self._names_act(act)
        if self.cluster.supervised:
            asked = supervisor(ActionAsked(action=name, target=target, title=title))

        def done(ok: bool, message: str) -> None:
            if self.cluster.supervised:
                with supervisor.because(asked):
                    supervisor(ActionDone(action=name, target=target, ok=ok, message=message))
            due.done(ok, message)

        asks = ACTS[act.verb].asks if act.verb in ACTS else None
        if asks is not None:
            process = SimProcess("supervisor")
            task = self.cluster.loop.spawn(process, self._ask(asks, act, done))
            self._asking[task] = done
            task.add_done_callback(self._asking.pop)
            return
        with supervisor.because(asked) if asked else nullcontext():
            ok = self._do(due, run_ms)
        done(ok, str(act) if ok else NOT_POSSIBLE)

    async def _ask(self, asks: Asks, act: Act, done: Callable[[bool, str], None]) -> None:
        """Ask the cluster for an act, and wait for its answer."""
        options = dict(word.split("=", 1) for word in act.options)
        try:
            message = await asks(self.cluster, act.verb, act.who, options)
        except ActFailedError as error:
            done(False, str(error))
        except Exception as error:  # a bug of ours: the caller still gets an answer
            self._fail("acts end", f"{act}: {error!r}")
            done(False, repr(error))
        else:
            done(True, message)

    def _do(self, due: Due, run_ms: int) -> bool:
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
        undo = ACTS[act.verb].begin(self._stage, act)
        if undo is not None and ACTS[act.verb].for_ms is not None:
            at_ms = act.at_ms + act.for_ms if act.for_ms else run_ms
            self._due.append(Due(at_ms, 0, due.number, act, undo))
        return undo is not None

    def _look_until(self, at_ms: int) -> Iterator[Passage]:
        """Let virtual time pass until `at_ms` of the run, and observe the brokers at intervals."""
        while self.now_ms() < at_ms:
            yield from self._look_once(at_ms)

    def _look_while_replicas_catch_up(self) -> Iterator[Passage]:
        """Let virtual time pass as long as replicas that are not in sync make progress."""
        behind = ends_out_of_sync(self.cluster)
        while behind:
            yield from self._look_until(
                max(self.now_ms() + CATCH_UP_MS, self._watch.elected_ms + QUIET_MS)
            )
            before, behind = behind, ends_out_of_sync(self.cluster)
            if behind == before:  # the rule "everybody agrees" names it
                break

    def _look_once(self, at_ms: int) -> Iterator[Passage]:
        """Let one slice of virtual time pass, at most until `at_ms` of the run."""
        now_ms = self.now_ms()
        yield Passage(min(at_ms - now_ms, self._slice_ms))
        if at_ms == self.now_ms() or self.now_ms() - self._looked_ms >= LOOK_EVERY_MS:
            self._looked_ms = self.now_ms()
            self._watch.look()

    def _start(self, broker: int) -> None:
        """Start a broker that is down. A start that fails is a violation."""
        if self.cluster.brokers[broker].server is not None:
            return
        try:
            task = self.cluster.begin_start(broker)
        except LearnerError as error:
            self._fail("brokers start", f"broker {broker} did not start: {error}")
            return
        process = self.cluster.brokers[broker].process

        def started(_: object) -> None:
            if not process.alive or task.cancelled():
                return  # it was killed, or stopped while it started
            if (error := task.exception()) is not None:
                self._fail("brokers start", f"broker {broker} did not start: {error!r}")

        task.add_done_callback(started)

    def _fail(self, rule: str, text: str) -> None:
        self._violations.append(Violation(rule, text))


def play(scenario: Scenario, seed: int, acts: tuple[Act, ...] | None = None) -> ScenarioResult:
    """Play a scenario with a seed. Takes about a second on one core for 20 virtual seconds."""
    return ScenarioRun(scenario, seed, acts).play()
