"""The cluster of exercise 03-5: start it, make its trouble, check it, and end it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from kafka_edu.supervisor.cluster import Cluster, ClusterError
from kafka_edu.supervisor.cluster_spec import Wish

from ...lab_cluster import (
    CLIENT_PATIENCE_MS,
    LabCluster,
    faults_of_links,
    keep_before,
    read_before,
    restart,
    slow_link,
)
from ...runner.verdict import Step
from .facts import Facts, ack_limit_ms, judge
from .material import FAR_MS, SLOW_MS, TIMEOUT_MS, TOPIC, Plan, plan

PATIENCE_MS: Final = 5_000
#: A follower stays in the ISR for an hour after it falls behind. It keeps its ZooKeeper session.
PATIENT_ISR: Final = {"replica.lag.time.max.ms": "3600000"}
SETTINGS: Final = {"min.insync.replicas": "2"}
LAB: Final = LabCluster("03-5", TOPIC)
is_running = LAB.is_running
end = LAB.end


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, fill its topic, and make the trouble that the seed determines. No event
    and no status shows this trouble. Raises ClusterError.

    The state before the trouble is stored in `folder`. The cluster outlives this process.
    """
    made = plan(seed)
    say("starting three brokers")
    with LAB.begun(Wish(brokers=3, props=PATIENT_ISR), home) as cluster:
        cluster.wait_ready()
        say(f"writing {made.records} orders, as long as all is well")
        create_topic(cluster, made)
        LAB.write_orders(cluster, made.records)
        slow_link(cluster, made.leader, made.far, FAR_MS)
        keep_before(folder, seed, look(cluster, produce=False))
        say("now the trouble begins")
        if made.cause == "cut":
            ends = {"broker": made.victim, "other": made.leader}
            cluster.perform("cut-link", ends, hidden=True)
        else:
            slow_link(cluster, made.leader, made.victim, SLOW_MS, hidden=True)
        acked_ms, error = LAB.send_one(cluster, TIMEOUT_MS)
        if acked_ms is not None:
            raise ClusterError(f"no trouble came up: a produce took {acked_ms} ms")
        say(f"a produce has failed: {error}")


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the cluster, and yield a step for each condition. Raises ClusterError if the cluster is
    not up.
    """
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        say("looking at brokers, links, ZooKeeper and records, and producing one record")
        now = look(cluster, produce=True)
    yield from judge(plan(seed), facts_of(before), now)


def facts_of(fields: dict[str, object]) -> Facts:
    """Return the facts from their JSON form."""
    return Facts(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}  # type: ignore[arg-type]  # as written by begin
    )


def create_topic(cluster: Cluster, made: Plan) -> None:
    """Create the topic with one partition, which the broker `leader` leads."""
    LAB.create_topic(cluster, (made.leader, made.victim, made.far), SETTINGS)


def look(cluster: Cluster, *, produce: bool) -> Facts:
    """Return the facts about the cluster now. With `produce`, send records to measure the time."""
    status = cluster.status(hidden=True)
    brokers = [status.broker(number) for number in cluster.broker_ids]
    topic = LAB.in_zookeeper(cluster)
    facts = Facts(
        tuple(broker.state for broker in brokers),
        tuple(broker.pid for broker in brokers),
        faults_of_links(cluster),
        topic.created,
        topic.replicas,
        topic.isr,
        topic.settings,
    )
    if not topic.created:
        return facts._replace(error=f"there is no topic {TOPIC}")
    if not produce:
        return facts._replace(records=LAB.read_all(cluster))
    alone_ms, error = LAB.send_one(cluster, CLIENT_PATIENCE_MS, acks=1)
    if alone_ms is None:
        return facts._replace(records=LAB.read_all(cluster), error=error)
    patience_ms = max(PATIENCE_MS, ack_limit_ms(alone_ms) + 1_000)
    acked_ms, error = LAB.send_one(cluster, patience_ms)
    return facts._replace(
        records=LAB.read_all(cluster), acked_ms=acked_ms, error=error, leader_alone_ms=alone_ms
    )


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster. The act "topic-again" deletes the topic and
    creates it again. All other acts are acts of `kafka-edu cluster act`. Raises ClusterError.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "restart", [int(broker)]:
                    restart(cluster, broker)
                case "heal-link" | "cut-link", [int(one), int(other)]:
                    cluster.perform(str(name), {"broker": one, "other": other})
                case "reassign", [str(partition), str(replicas)]:
                    cluster.perform("reassign", {"partition": partition, "replicas": replicas})
                case "topic-config", [str(topic), str(setting)]:
                    cluster.perform("topic-config", {"topic": topic, "setting": setting})
                case "topic-again", [int(leader)]:
                    one, other = [number for number in cluster.broker_ids if number != leader]
                    LAB.create_again(cluster, (leader, one, other), SETTINGS)
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")
