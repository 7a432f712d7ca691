"""The kill of a leader in virtual time, with the classes and the settings of the real cluster."""

import time
from collections.abc import Iterable
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.instruments.sentences import fact_text
from kafka_edu.sim.no_log import no_log
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster, coroutines_of_dead_processes
from kafka_edu.trace.event import Envelope, Event
from kafka_edu.trace.events.controller import LeaderElected
from kafka_edu.trace.events.replication import BecameLeader
from kafka_edu.trace.events.simulation import SimulatedFact, SimulationPlayed
from kafka_edu.trace.events.supervisor import ProcessEnded
from kafka_edu.trace.events.zk import SessionExpired
from kafka_edu.zk.embedded.session_tracker import TICK_TIME_MS

from .fact_trail import FactTrail

TOPIC: Final = "ch18"
BROKERS: Final = (0, 1, 2)
PROPERTIES: Final = {"auto.leader.rebalance.enable": "false"}
SEED: Final = 18
SETTLED_MS: Final = 1_000
AFTER_MS: Final = 20_000
RUN: Final = "kill"
#: The facts for which the script waits on the real cluster, in their order.
CHAIN: Final[tuple[type[Event], ...]] = (
    ProcessEnded,
    SessionExpired,
    LeaderElected,
    BecameLeader,
)


def _of_chain(envelope: Envelope) -> bool:
    """Return whether a fact is one of CHAIN. For leaders, only partition 0 of the topic counts."""
    event = envelope.event
    if isinstance(event, LeaderElected | BecameLeader):
        return event.topic == TOPIC and event.partition == 0
    return isinstance(event, CHAIN)


def play_kill(seed: int = SEED) -> Iterable[Event]:
    """Kill the leader of ch18-0 in virtual time. Return the facts of CHAIN, and the summary.

    All times are counted from the kill.
    """
    began = time.monotonic()
    with no_log(), coroutines_of_dead_processes():
        cluster = SimCluster(
            seed,
            BROKERS,
            PROPERTIES,
            zookeeper_tick_ms=TICK_TIME_MS,
            make_random=SeededRandom,
        )
        trail = FactTrail(cluster)
        cluster.sink.listeners.append(trail.add)
        cluster.start_all()
        client = SimClient(cluster)
        made = cluster.run_as(client.process, client.create_topic(TOPIC, 1, len(BROKERS)))
        assert made is Errors.NONE, made
        cluster.advance(SETTLED_MS)
        before, begun_ms = len(trail.facts), cluster.time.hi_res_clock_ms()
        leaders = [one.event for one in cluster.facts(BecameLeader) if _of_chain(one)]
        victim = next(one for one in cluster.facts(BecameLeader) if one.event is leaders[-1])
        assert victim.broker is not None
        cluster.kill(victim.broker)
        cluster.advance(AFTER_MS)
        end_ms = cluster.time.hi_res_clock_ms()
        cluster.close()
    took_ms = round((time.monotonic() - began) * 1_000)
    after = zip(trail.facts[before:], trail.envelopes[before:], strict=True)
    chain: list[Event] = [
        SimulatedFact(
            run=RUN,
            fact=envelope.name,
            text=fact_text(envelope.event),
            at_ms=fact.at_ms - begun_ms,
        )
        for fact, envelope in after
        if _of_chain(envelope)
    ]
    played = SimulationPlayed(
        run=RUN,
        seed=seed,
        facts=len(trail.facts),
        digest=trail.digest(),
        virtual_ms=end_ms,
        took_ms=took_ms,
        broken="",
    )
    return [*chain, played]
