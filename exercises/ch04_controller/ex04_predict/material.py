"""The run of exercise 04-4: a topic is created in a simulated cluster, then a broker is killed."""

from functools import cache
from random import Random
from typing import Final, NamedTuple

from kafka_edu.cluster.topic_assignment import TopicAssignment
from kafka_edu.instruments.sentences import sentence
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import (
    BrokerFailed,
    ControllerRequestSent,
    LeaderElected,
    PartitionStateChanged,
)
from kafka_edu.trace.events.replication import IsrShrunk

QUESTIONS: Final = """\
# 04-4: your run

Four brokers, 0 to 3, all live. Broker {controller} is the controller. The timer that
gives leaderships back is off.

A topic `t` is created with these replicas:

| partition | replicas |
| --- | --- |
{rows}

1. `created_leader_and_isr`: which brokers get a LeaderAndIsr? A list of ids,
   ascending, such as [0, 3].
2. `created_metadata`: which brokers get an UpdateMetadata that names a
   partition of `t`?
3. `leaders`: who leads each partition, in the order of the table?

When all replicas are in sync, broker {victim} is killed, and its session ends.

4. `elections`: for how many partitions of `t` is a new leader elected?
5. `new_leaders`: who leads each partition now, in the order of the table?
6. `failed_leader_and_isr`: which brokers get a LeaderAndIsr because of that?
7. `failed_metadata`: and which brokers get an UpdateMetadata?
"""
SESSION_MS: Final = 60_000
QUIET_MS: Final = 3_000
BROKERS: Final = (0, 1, 2, 3)
CONTROLLER: Final = 0
"""The id of the broker that is the controller: broker 0, because it starts first."""


class Plan(NamedTuple):
    """The random choices for one run."""

    replicas: tuple[tuple[int, ...], ...]
    """The replicas of each partition, as broker ids. At first, the first replica of a partition
    leads.
    """
    victim: int


def plan(seed: int) -> Plan:
    """Return the random choices for this seed. The victim (the broker that dies) leads at least one
    partition and follows at least one. At least one broker has no partition in common with the
    victim.
    """
    random = Random(f"controller/{seed}")
    while True:
        replicas = tuple(tuple(random.sample(BROKERS, random.choice((2, 2, 3)))) for _ in range(3))
        victim = random.choice([broker for broker in BROKERS if broker != CONTROLLER])
        leads = [ids for ids in replicas if ids[0] == victim]
        follows = [ids for ids in replicas if victim in ids[1:]]
        touched = {broker for ids in (*leads, *follows) for broker in ids}
        everybody = {broker for ids in replicas for broker in ids}
        if leads and follows and touched != {*BROKERS} and len(everybody) >= 3:
            return Plan(replicas, victim)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    made = plan(seed)
    rows = [
        f"| t-{number} | {', '.join(map(str, ids))} |" for number, ids in enumerate(made.replicas)
    ]
    text = QUESTIONS.format(controller=CONTROLLER, victim=made.victim, rows="\n".join(rows))
    return {"questions.md": text}


class Run(NamedTuple):
    """The controller's events after the topic was created, and after the broker had failed."""

    created: tuple[Envelope, ...]
    failed: tuple[Envelope, ...]


@cache
def run(seed: int) -> Run:
    """Simulate the cluster, in virtual time. This takes about one second of real time."""
    made = plan(seed)
    cluster = SimCluster(seed, BROKERS, {"auto.leader.rebalance.enable": "false"})
    cluster.start_all()
    tool = cluster.brokers[CONTROLLER].process
    admin = cluster.admin(tool)
    cluster.advance(QUIET_MS)
    begin = len(cluster.sink.events)
    assignment = TopicAssignment.of(dict(enumerate(made.replicas)))
    cluster.run_as(tool, admin.create_topic_assignment("t", assignment))
    cluster.advance(QUIET_MS)
    killed = len(cluster.sink.events)
    cluster.kill(made.victim)
    cluster.advance(SESSION_MS)
    events = [e for e in cluster.sink.events if e.broker == CONTROLLER]
    before = sum(e.broker == CONTROLLER for e in cluster.sink.events[:begin])
    middle = sum(e.broker == CONTROLLER for e in cluster.sink.events[:killed])
    cluster.close()
    failed = events[middle:]
    first = next(i for i, e in enumerate(failed) if isinstance(e.event, BrokerFailed))
    shrunk = next(
        (i for i, e in enumerate(failed) if i > first and isinstance(e.event, IsrShrunk)),
        len(failed),
    )
    return Run(tuple(events[before:middle]), tuple(failed[first:shrunk]))


def receivers(events: tuple[Envelope, ...], api: ApiKey, *, partitions: bool = False) -> list[int]:
    """Return the brokers that got a request of the kind `api`. If `partitions` is true, ignore
    requests without partitions.
    """
    return sorted(
        {
            envelope.event.broker_id
            for envelope in events
            if isinstance(envelope.event, ControllerRequestSent)
            and envelope.event.api_key == api
            and (envelope.event.partitions or not partitions)
        }
    )


def _leaders(events: tuple[Envelope, ...], before: list[int]) -> list[int]:
    """Return the id of each partition's leader after these events. `before` has the old leaders."""
    now = list(before)
    for envelope in events:
        if isinstance(envelope.event, LeaderElected) and envelope.event.topic == "t":
            now[envelope.event.partition] = envelope.event.new_leader
    return now


def right_answers(seed: int) -> dict[str, object]:
    """Return the right answer to each question, as the events of the run show it."""
    created, failed = run(seed)
    leaders = _leaders(created, [-1] * len(plan(seed).replicas))
    return {
        "created_leader_and_isr": receivers(created, ApiKey.LEADER_AND_ISR),
        "created_metadata": receivers(created, ApiKey.UPDATE_METADATA, partitions=True),
        "leaders": leaders,
        "elections": sum(
            isinstance(e.event, LeaderElected) and e.event.topic == "t" for e in failed
        ),
        "new_leaders": _leaders(failed, leaders),
        "failed_leader_and_isr": receivers(failed, ApiKey.LEADER_AND_ISR),
        "failed_metadata": receivers(failed, ApiKey.UPDATE_METADATA),
    }


def shown(events: tuple[Envelope, ...]) -> tuple[str, ...]:
    """Return the events that answer the questions, each as one readable line."""
    wanted = (BrokerFailed, LeaderElected, PartitionStateChanged, ControllerRequestSent)
    return tuple(sentence(each.event).line for each in events if isinstance(each.event, wanted))
