"""The four runs of exercise 06-7: in each simulated cluster the leader stops in a different way."""

from functools import cache
from itertools import count
from random import Random
from typing import Final, NamedTuple

from kafka_edu.cluster.topic_assignment import TopicAssignment
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.instruments.sentences import sentence
from kafka_edu.sim.no_log import no_log
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import ControllerElected, LeaderElected
from kafka_edu.trace.events.log import LogRecovered
from kafka_edu.trace.events.server import ControlledShutdownAttempted, ServerStopping
from kafka_edu.trace.events.zk import SessionClosed, SessionExpired

QUESTIONS: Final = """\
# 06-7: your runs

Four clusters of three brokers. Broker {controller} is the controller in each of them, and
broker {victim} leads web-0. AR of web-0 is {replicas}. All replicas are in the ISR, unless a
run says something else. Broker {victim} goes. All times are in ms.

| run | how it goes | at | tick | session | last heard at | besides |
| --- | --- | --- | --- | --- | --- | --- |
{rows}

1. `gap_a`, `gap_b`, `gap_c`: for how long has web-0 no leader, from the act to
   the election of the next one?
2. `next_a`, `next_b`, `next_c`: which broker leads then?
3. `reads`: broker {victim} is started again. In which run does it read segments of web-0
   again: "a", "b" or "c"?

In run d the controller stands still (SIGSTOP) at the moment when broker {victim} gets
SIGTERM. Its session lasts {session_d:,} ms with a tick of {tick_d:,}; ZooKeeper heard it last at
{heard_d:,}, and the SIGTERM comes at {act_d:,}. controller.socket.timeout.ms is {socket:,},
controlled.shutdown.retry.backoff.ms is {backoff:,}, and
controlled.shutdown.max.retries is {retries}.

4. `attempts`: how many times does broker {victim} ask to be let go?
5. `let_go`: does the last attempt succeed? True or False.
"""
CONTROLLER: Final = 0
"""The id of the broker that is the controller: broker 0, because it starts first."""
BROKERS: Final = (0, 1, 2)
WEB: Final = TopicPartition("web", 0)
NAMES: Final = ("a", "b", "c")
KILL, TERM, TERM_ALONE = "kill -9", "SIGTERM", "SIGTERM, without a controlled shutdown"
WAYS: Final = (KILL, TERM, TERM_ALONE)
TICKS: Final = (1_000, 1_500, 2_000, 2_500)
AFTER_MS: Final = 45_000
SAFE_MS: Final = 250
"""In run d, each attempt begins at least this many ms before or after a controller's election."""


class Plan(NamedTuple):
    """The settings of one of the runs a, b and c."""

    way: str
    tick_ms: int
    session_ms: int
    quiet_ms: int
    """The time in ms for which the cluster runs before a broker is stopped or killed."""
    without_second: bool
    """Whether the second broker of AR is stopped before the victim."""


class Patience(NamedTuple):
    """The settings of run d, in which the controller does not answer."""

    tick_ms: int
    session_ms: int
    quiet_ms: int
    socket_ms: int
    backoff_ms: int
    retries: int


class Plans(NamedTuple):
    """The settings of all four runs of a learner."""

    victim: int
    replicas: tuple[int, ...]
    runs: dict[str, Plan]
    patience: Patience


@cache
def plans(seed: int) -> Plans:
    """Return the settings of all four runs for this seed."""
    random = Random(f"gaps/{seed}")
    victim = random.choice((1, 2))
    others = [broker for broker in BROKERS if broker != victim]
    # The second broker of AR may be stopped before the run. The controller, broker 0, is never the
    # second.
    replicas = (victim, *sorted(others, reverse=True))
    missing = random.choice(NAMES)
    ways = random.sample(WAYS, len(WAYS))
    runs = {}
    for name, way in zip(NAMES, ways, strict=True):
        tick_ms = random.choice(TICKS)
        session_ms = tick_ms * random.randint(2, 6) + random.randrange(0, tick_ms, 100)
        quiet_ms = random.randint(8_000, 20_000)
        runs[name] = Plan(way, tick_ms, session_ms, quiet_ms, name == missing)
    let_go = random.random() < 0.5
    for number in count():
        patience = _patience(Random(f"patience/{seed}/{number}"))
        if _is_clear(seed, victim, replicas, patience, let_go):
            return Plans(victim, replicas, runs, patience)
    raise AssertionError("count() has no end")


def _patience(random: Random) -> Patience:
    tick_ms = random.choice(TICKS)
    return Patience(
        tick_ms,
        tick_ms * random.randint(2, 5) + random.randrange(0, tick_ms, 100),
        random.randint(8_000, 20_000),
        random.randrange(1_000, 4_000, 500),
        random.randrange(500, 3_000, 250),
        random.randint(2, 4),
    )


def _is_clear(
    seed: int, victim: int, replicas: tuple[int, ...], patience: Patience, let_go: bool
) -> bool:
    """Return whether run d has clear answers: the last attempt succeeds if, and only if, `let_go`
    is true; and no attempt begins near the moment when the next controller is elected.
    """
    made = _waiting(seed, victim, replicas, patience)
    step_ms = patience.socket_ms + patience.backoff_ms
    elected_ms = made.elected_ms - made.act_ms
    return made.let_go == let_go and all(
        abs(number * step_ms - elected_ms) > SAFE_MS for number in range(patience.retries + 1)
    )


class Run(NamedTuple):
    """The results of run a, b or c. All times are in ms of the simulation's clock."""

    act_ms: float
    heard_ms: int
    """When the victim's session last sent a message before the victim was stopped or killed."""
    elected_ms: float
    leader: int
    read: int
    """The number of segments of web-0 that the victim's next start read again."""
    events: tuple[Envelope, ...]


class Waiting(NamedTuple):
    """The results of run d. All times are in ms of the simulation's clock."""

    act_ms: float
    heard_ms: int
    """When the controller's session last sent a message before the controller was paused."""
    elected_ms: float
    attempts: int
    let_go: bool
    events: tuple[Envelope, ...]


def _started(
    seed: int, tick_ms: int, replicas: tuple[int, ...], quiet_ms: int, props: dict[str, str]
) -> SimCluster:
    """Start a cluster, create web-0, write a record, and let `quiet_ms` pass."""
    cluster = SimCluster(
        seed, BROKERS, {"auto.leader.rebalance.enable": "false", **props}, zookeeper_tick_ms=tick_ms
    )
    cluster.start_all()
    tool = cluster.brokers[CONTROLLER].process
    admin = cluster.admin(tool)
    assignment = TopicAssignment.of({0: list(replicas)})
    cluster.run_as(tool, admin.create_topic_assignment(WEB.topic, assignment))
    cluster.advance(1_000)
    SimClient(cluster).produce(WEB, "an order", -1)
    cluster.advance(quiet_ms)
    return cluster


def _heard(cluster: SimCluster, path: str) -> int:
    """Return the time (ms) at which the session that owns this znode last sent a message."""
    owner = cluster.zookeeper.server.tree.node(path).ephemeral_owner
    return int(cluster.zookeeper.server.sessions.sessions[owner].heard_at)


@cache
def run(seed: int, name: str) -> Run:
    """Simulate run a, b or c, in virtual time. It takes less than a second of real time."""
    with no_log():
        return _run(seed, name)


def _run(seed: int, name: str) -> Run:
    made, plan = plans(seed), plans(seed).runs[name]
    props = {"zookeeper.session.timeout.ms": str(plan.session_ms)}
    if plan.way == TERM_ALONE:
        props["controlled.shutdown.enable"] = "false"
    cluster = _started(seed, plan.tick_ms, made.replicas, plan.quiet_ms, props)
    if plan.without_second:
        cluster.stop(made.replicas[1])
        cluster.advance(3_000)
    heard_ms = _heard(cluster, f"/brokers/ids/{made.victim}")
    begin, act_ms = len(cluster.sink.events), cluster.time.hi_res_clock_ms()
    if plan.way == KILL:
        cluster.kill(made.victim)
    else:
        cluster.stop(made.victim)
    cluster.advance(AFTER_MS)
    events = _of_web(cluster.sink.events[begin:])
    elected = next(e for e in events if isinstance(e.event, LeaderElected))
    begin = len(cluster.sink.events)
    cluster.start(made.victim)
    cluster.advance(1_000)
    recovered = _of_web(cluster.sink.events[begin:])
    cluster.close()
    assert isinstance(elected.event, LeaderElected)
    return Run(
        act_ms,
        heard_ms,
        elected.mono_us / 1000,
        elected.event.new_leader,
        sum(e.event.segments for e in recovered if isinstance(e.event, LogRecovered)),
        (*events, *(e for e in recovered if isinstance(e.event, LogRecovered))),
    )


def _of_web(events: list[Envelope]) -> list[Envelope]:
    wanted = (
        *(ServerStopping, ControlledShutdownAttempted, SessionExpired, SessionClosed),
        *(LeaderElected, LogRecovered),
    )
    return [
        e
        for e in events
        if isinstance(e.event, wanted) and getattr(e.event, "topic", WEB.topic) == WEB.topic
    ]


@cache
def _waiting(seed: int, victim: int, replicas: tuple[int, ...], patience: Patience) -> Waiting:
    """Simulate run d with these settings, in virtual time."""
    with no_log():
        return _wait(seed, victim, replicas, patience)


def _wait(seed: int, victim: int, replicas: tuple[int, ...], patience: Patience) -> Waiting:
    props = {
        "zookeeper.session.timeout.ms": str(patience.session_ms),
        "controller.socket.timeout.ms": str(patience.socket_ms),
        "controlled.shutdown.retry.backoff.ms": str(patience.backoff_ms),
        "controlled.shutdown.max.retries": str(patience.retries),
    }
    cluster = _started(seed, patience.tick_ms, replicas, patience.quiet_ms, props)
    heard_ms = _heard(cluster, "/controller")
    begin, act_ms = len(cluster.sink.events), cluster.time.hi_res_clock_ms()
    cluster.pause(CONTROLLER)
    cluster.stop(victim)
    cluster.advance(AFTER_MS)
    events = cluster.sink.events[begin:]
    cluster.close()
    elected = next(e for e in events if isinstance(e.event, ControllerElected))
    wanted = (ServerStopping, ControlledShutdownAttempted, SessionExpired, ControllerElected)
    relevant = tuple(e for e in events if isinstance(e.event, wanted))
    attempts = [e.event for e in relevant if isinstance(e.event, ControlledShutdownAttempted)]
    last = attempts[-1]
    let_go = last.error == "NONE" and not last.partitions_remaining
    return Waiting(act_ms, heard_ms, elected.mono_us / 1000, len(attempts), let_go, relevant)


def waiting(seed: int) -> Waiting:
    """Simulate run d with the settings of this seed, in virtual time."""
    made = plans(seed)
    return _waiting(seed, made.victim, made.replicas, made.patience)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    made, came_d = plans(seed), waiting(seed)
    rows = []
    for name, plan in made.runs.items():
        came = run(seed, name)
        besides = f"broker {made.replicas[1]} was stopped before" if plan.without_second else ""
        rows.append(
            f"| {name} | {plan.way} | {came.act_ms:,.0f} | {plan.tick_ms:,} |"
            f" {plan.session_ms:,} | {came.heard_ms:,} | {besides} |"
        )
    text = QUESTIONS.format(
        controller=CONTROLLER,
        victim=made.victim,
        replicas=", ".join(map(str, made.replicas)),
        rows="\n".join(rows),
        session_d=made.patience.session_ms,
        tick_d=made.patience.tick_ms,
        heard_d=came_d.heard_ms,
        act_d=round(came_d.act_ms),
        socket=made.patience.socket_ms,
        backoff=made.patience.backoff_ms,
        retries=made.patience.retries,
    )
    return {"questions.md": text}


def right_answers(seed: int) -> dict[str, object]:
    """Return the right answer to each question, as the runs show it."""
    runs = {name: run(seed, name) for name in NAMES}
    came = waiting(seed)
    return {
        **{f"gap_{name}": round(one.elected_ms - one.act_ms) for name, one in runs.items()},
        **{f"next_{name}": one.leader for name, one in runs.items()},
        "reads": next(name for name, one in runs.items() if one.read),
        "attempts": came.attempts,
        "let_go": came.let_go,
    }


def shown(came: Run | Waiting) -> tuple[str, ...]:
    """Return the events that answer the questions about one run, each as one readable line."""
    return tuple(f"{e.mono_us / 1000:>8,.0f} ms  {sentence(e.event).line}" for e in came.events)
