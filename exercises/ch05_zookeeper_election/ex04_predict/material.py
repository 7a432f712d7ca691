"""The three runs of exercise 05-4: in each simulated cluster the controller stops in a different
way.
"""

from functools import cache
from random import Random
from typing import Final, NamedTuple

from kafka_edu.instruments.sentences import sentence
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import ControllerElected, ControllerResigned
from kafka_edu.trace.events.zk import SessionClosed, SessionExpired, ZnodeDeleted

QUESTIONS: Final = """\
# 05-4: your runs

Three clusters of three brokers. Broker {controller} is the controller in each of them. All
times are in ms.

| run | how broker {controller} goes | at | tick | asks for a time-out of | last heard at |
| --- | --- | --- | --- | --- | --- |
{rows}

1. `given_a`, `given_b`, `given_c`: which time-out does its session get?
2. `gone_a`, `gone_b`, `gone_c`: when is `/controller` gone?
3. `first`: in which run is the office vacant soonest after the act: "a", "b" or
   "c"?
4. `believes`: in which run does broker {controller} still take itself for the
   controller when the next one is elected: "a", "b" or "c"?
"""
CONTROLLER: Final = 0
"""The id of the broker that is the controller: broker 0, because it starts first."""
BROKERS: Final = (0, 1, 2)
TICKS: Final = (1_000, 1_500, 2_000, 2_500, 3_000)
AFTER_MS: Final = 45_000
NAMES: Final = ("a", "b", "c")
WAYS: Final = ("kill -9", "SIGSTOP", "SIGTERM")


class Plan(NamedTuple):
    """The settings of one run."""

    way: str
    """How the controller is ended or paused: one of WAYS."""
    tick_ms: int
    asked_ms: int
    quiet_ms: int
    """The time in ms from the start of the cluster until the controller is ended or paused."""


@cache
def plans(seed: int) -> dict[str, Plan]:
    """Return the settings of the three runs for this seed, by name. In one of the runs, ZooKeeper
    gives the session a longer time-out than the broker asked for.
    """
    random = Random(f"vacant/{seed}")
    ways = random.sample(WAYS, len(WAYS))
    short = random.choice([name for name, way in zip(NAMES, ways, strict=True) if way != WAYS[2]])
    made = {}
    for name, way in zip(NAMES, ways, strict=True):
        tick_ms = random.choice(TICKS)
        low, high = (0.5, 1.7) if name == short else (2.3, 7.0)
        asked_ms = round(tick_ms * random.uniform(low, high), -2)
        made[name] = Plan(way, tick_ms, int(asked_ms), random.randint(8_000, 20_000))
    return made


class Run(NamedTuple):
    """The results of one run. All times are in ms of the simulation's clock."""

    act_ms: float
    heard_ms: int
    """When the controller's session last sent a message before the controller ended."""
    given_ms: int
    gone_ms: float
    believes: bool
    """Whether the old controller had not resigned yet when the next controller was elected."""
    events: tuple[Envelope, ...]


@cache
def run(seed: int, name: str) -> Run:
    """Simulate one run, in virtual time. It takes less than a second of real time."""
    made = plans(seed)[name]
    cluster = SimCluster(
        seed,
        BROKERS,
        {
            "zookeeper.session.timeout.ms": str(made.asked_ms),
            "auto.leader.rebalance.enable": "false",
        },
        zookeeper_tick_ms=made.tick_ms,
    )
    cluster.start_all()
    cluster.advance(made.quiet_ms)
    begin = len(cluster.sink.events)
    owner = cluster.zookeeper.server.tree.node("/controller").ephemeral_owner
    session = cluster.zookeeper.server.sessions.sessions[owner]
    heard_ms, given_ms = session.heard_at, session.timeout_ms
    act_ms = cluster.time.hi_res_clock_ms()
    match made.way:
        case "kill -9":
            cluster.kill(CONTROLLER)
        case "SIGSTOP":
            cluster.pause(CONTROLLER)
        case _:
            cluster.stop(CONTROLLER)
    cluster.advance(AFTER_MS)
    events = cluster.sink.events[begin:]
    cluster.close()
    wanted = (SessionExpired, SessionClosed, ZnodeDeleted, ControllerElected, ControllerResigned)
    relevant = tuple(
        e
        for e in events
        if isinstance(e.event, wanted)
        and getattr(e.event, "path", "/controller") == "/controller"
        and getattr(e.event, "session_id", owner) == owner
    )
    gone = next(e for e in relevant if isinstance(e.event, ZnodeDeleted))
    resigned = [e for e in relevant if isinstance(e.event, ControllerResigned)]
    believes = made.way == "SIGSTOP" and not resigned
    return Run(act_ms, heard_ms, given_ms, gone.mono_us / 1000, believes, relevant)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    rows = []
    for name, made in plans(seed).items():
        came = run(seed, name)
        rows.append(
            f"| {name} | {made.way} | {came.act_ms:,.0f} | {made.tick_ms:,} | {made.asked_ms:,} |"
            f" {came.heard_ms:,} |"
        )
    return {"questions.md": QUESTIONS.format(controller=CONTROLLER, rows="\n".join(rows))}


def right_answers(seed: int) -> dict[str, object]:
    """Return the right answer to each question, as the runs show it."""
    runs = {name: run(seed, name) for name in NAMES}
    return {
        **{f"given_{name}": came.given_ms for name, came in runs.items()},
        **{f"gone_{name}": round(came.gone_ms) for name, came in runs.items()},
        "first": min(runs, key=lambda name: runs[name].gone_ms - runs[name].act_ms),
        "believes": next(name for name, came in runs.items() if came.believes),
    }


def shown(came: Run) -> tuple[str, ...]:
    """Return the events that answer the questions about one run, each as one readable line."""
    return tuple(f"{e.mono_us / 1000:>8,.0f} ms  {sentence(e.event).line}" for e in came.events)
