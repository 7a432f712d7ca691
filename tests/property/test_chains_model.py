"""Whatever happens at once: no link between two processes is false, and no watch or request lacks
its link.

Hypothesis drives a cluster in virtual time. Often only a moment passes between two faults, so that
several kills, new topics and watches are under way together. Then the latest earlier event is most
often the wrong cause. `chain_oracle` knows the true causes.
"""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.event import Level
from tests.unit.sim.chain_oracle import ChainOracle
from tests.unit.sim.test_chains import World, check_all

pytestmark = pytest.mark.faults  # too long for the fast suite

BROKERS = st.sampled_from((1, 2, 3))
TOPICS = ("a", "b")
MOMENTS_MS = st.sampled_from((0.3, 2.0, 40.0, 700.0, 9_000.0, 25_000.0))
ACTS = st.sampled_from(
    ("kill", "start", "pause", "resume", "create", "create", "delete", "produce", "cut", "expire")
)


def act(world: World, doing: str, broker: int, topic: str) -> None:
    cluster, state = world.cluster, world.cluster.brokers[broker]
    up = state.server is not None
    paused = world.paused
    match doing:
        case "kill" if up and sum(b.server is not None for b in cluster.brokers.values()) > 1:
            cluster.kill(broker)
            paused.discard(broker)
        case "start" if not up and not paused:
            cluster.advance(
                25_000
            )  # its old session must be over: a start waits for that, and may give up
            cluster.start(broker)
        case "pause" if up and broker not in paused:
            cluster.pause(broker)
            paused.add(broker)
        case "resume" if broker in paused:
            cluster.resume(broker)
            paused.discard(broker)
        case "create":
            world.begin(
                world.client.create_topic(
                    topic, 2, sum(b.server is not None for b in cluster.brokers.values())
                )
            )
        case "delete":
            world.begin(world.client.delete_topic(topic))
        case "produce":
            world.client.produce(TopicPartition(topic, broker % 2), "x", -1)
        case "cut" if up and state.zk_client is not None and broker not in paused:
            state.zk_client.cut()
            cluster.advance(200)
            state.zk_client.mend()
        case "expire" if up and state.zk_client is not None:
            cluster.zookeeper.expire(state.zk_client.session_id)
        case _:
            pass


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    acts=st.lists(
        st.tuples(ACTS, BROKERS, st.sampled_from(TOPICS), MOMENTS_MS), min_size=4, max_size=14
    ),
    level=st.sampled_from((Level.STATE, Level.STATE, Level.HOPS)),
)
@example(acts=[("create", 1, "a", 40.0), ("kill", 1, "a", 1.2)], level=Level.HOPS)
def test_no_link_is_false_whatever_happens_at_once(
    acts: list[tuple[str, int, str, float]], level: Level
) -> None:
    with ChainOracle().watching() as oracle:
        world = World(oracle, level)
        try:
            for doing, broker, topic, moment_ms in acts:
                act(world, doing, broker, topic)
                world.cluster.advance(moment_ms)
            for broker in sorted(world.paused):
                world.cluster.resume(broker)
            world.cluster.advance(30_000)
            check_all(world)
        finally:
            world.cluster.close()
