"""Start the cluster of exercise 10-5, cause three troubles, check the cluster, and end it.

kafka-python writes the records, so that an independent client says which records are acked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from kafka import KafkaProducer

from kafka_edu.clients.admin.config_calls import AlterConfigOp, ConfigResource
from kafka_edu.clients.blocking import Admin
from kafka_edu.protocol.messages.describe_configs import ResourceType
from kafka_edu.protocol.messages.incremental_alter_configs import OpType
from kafka_edu.supervisor.cluster import Cluster
from kafka_edu.supervisor.cluster_spec import Wish

from ...lab_cluster import (
    READ_LIMIT_S,
    LabCluster,
    elect_controller,
    faults_of_links,
    keep_before,
    read_before,
    restart,
    topic_facts,
    wait_until,
)
from ...runner.verdict import Step
from .facts import Facts, judge
from .material import BROKERS, RATE, TOPICS, Plan, plan

ID: Final = "10-5"
LABS: Final = {topic: LabCluster(ID, topic) for topic in TOPICS}
LAB: Final = LABS[TOPICS[0]]
SETTINGS: Final = {"min.insync.replicas": "1"}
PROPS: Final[Mapping[str, str]] = {
    "auto.leader.rebalance.enable": "false",
    "replica.lag.time.max.ms": "5000",
    "replica.fetch.max.bytes": "20000",
}
"""Each fetch gets few bytes, so the first fetch after a restart does not get everything."""
FILLERS: Final = 60
FILLER_BYTES: Final = 5_000
SHOWN: Final = 24
"""The number of characters of each value that the facts contain."""
THROTTLED: Final = "follower.replication.throttled.replicas"
THROTTLE: Final = "follower.replication.throttled.rate"
is_running = LAB.is_running
end = LAB.end


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, fill its topics, and cause the three troubles. Raises ClusterError.

    The state before the trouble is saved in `folder`. The cluster runs on when this process ends.
    """
    made = plan(seed)
    say("starting four brokers")
    with LAB.begun(Wish(brokers=BROKERS, props=PROPS), home) as cluster:
        # The leader has to be the controller: the cut link must not lie between the two.
        elect_controller(cluster, made.leader)
        say(f"writing {made.records} records into each of three topics, as long as all is well")
        for topic, follower in zip(TOPICS, made.followers, strict=True):
            LABS[topic].create_topic(cluster, (made.leader, follower), SETTINGS)
            LABS[topic].write_orders(cluster, made.records)
        say("a broker is away for maintenance, and the shop goes on")
        slow, throttled = made.broker_of("throttle"), made.topic_of("throttle")
        before = look(cluster)
        set_throttle(cluster, throttled, slow, RATE)  # it says nothing to a replica in the ISR
        cluster.stop(slow)
        _write_fillers(cluster, throttled)
        cluster.start(slow)
        records = tuple(_values(cluster, topic) for topic in TOPICS)
        keep_before(folder, seed, before._replace(pids=_pids(cluster), records=records))
        say("now the other troubles begin")
        ends = {"broker": made.leader, "other": made.broker_of("link")}
        cluster.perform("cut-link", ends, hidden=True)
        cluster.kill(made.broker_of("process"))
        say("waiting until each partition lacks a replica")
        wait_until(lambda: _alone(cluster, made), "the trouble")


def _alone(cluster: Cluster, made: Plan) -> bool:
    """Return whether the leader is alone in the ISR of all three topics."""
    return all(lab.in_zookeeper(cluster).isr == (made.leader,) for lab in LABS.values())


def _write_fillers(cluster: Cluster, topic: str) -> None:
    """Write large records, which the follower that is away has to copy afterwards."""
    with closing(
        KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all", batch_size=0)
    ) as producer:
        for number in range(FILLERS):
            value = f"large {number} ".encode() + b"x" * FILLER_BYTES
            producer.send(topic, value, partition=0).get(READ_LIMIT_S)


def set_throttle(cluster: Cluster, topic: str, follower: int, rate: int | None) -> None:
    """Throttle the follower's copying of the topic; None ends the throttling."""
    settings = (
        (ConfigResource(ResourceType.TOPIC, topic), THROTTLED, f"0:{follower}"),
        (ConfigResource(ResourceType.BROKER, str(follower)), THROTTLE, str(rate)),
    )
    op = OpType.SET if rate is not None else OpType.DELETE
    with Admin({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        admin.incremental_alter_configs(
            {resource: [AlterConfigOp(key, op, value)] for resource, key, value in settings}
        ).all()


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the cluster's current state. Yield each result. Raises ClusterError if it is not up."""
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        say("looking at brokers, links, ZooKeeper and records")
        now = look(cluster)
    yield from judge(plan(seed), facts_of(before), now)


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    states, pids, links, topics, records = fields.values()
    return Facts(
        tuple(states),
        tuple(pids),
        tuple(links),
        tuple(topic_facts(topic) for topic in topics),
        tuple(tuple(values) for values in records),
    )


def look(cluster: Cluster) -> Facts:
    """Collect the facts about the cluster's current state."""
    status = cluster.status(hidden=True)
    topics = tuple(LABS[topic].in_zookeeper(cluster) for topic in TOPICS)
    together = ", ".join(one.settings for one in topics)
    return Facts(
        tuple(status.broker(number).state for number in cluster.broker_ids),
        _pids(cluster),
        faults_of_links(cluster),
        (topics[0]._replace(settings=together), *topics[1:]),
        tuple(_values(cluster, topic) for topic in TOPICS),
    )


def _pids(cluster: Cluster) -> tuple[int, ...]:
    status = cluster.status(hidden=True)
    return tuple(status.broker(number).pid for number in cluster.broker_ids)


def _values(cluster: Cluster, topic: str) -> tuple[str, ...]:
    if not LABS[topic].in_zookeeper(cluster).created:
        return ()
    return tuple(value[:SHOWN] for value in LABS[topic].read_all(cluster))


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster. Raises ClusterError.

    "heal-link", "start" and "restart" do what their names say. "throttle" limits the copying of a
    topic's follower to a rate, or removes the limit. "reassign" moves a topic to brokers. "in-sync"
    returns when all replicas of the named topics are in the ISR.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "heal-link", [int(one), int(other)]:
                    cluster.perform("heal-link", {"broker": one, "other": other})
                case "start", [int(broker)]:
                    cluster.start(broker)
                case "restart", [int(broker)]:
                    restart(cluster, broker)
                case "throttle", [str(topic), int(broker), *rate]:
                    limit = rate[0] if rate and isinstance(rate[0], int) else None
                    set_throttle(cluster, topic, broker, limit)
                case "reassign", [str(topic), list(replicas)]:
                    brokers = ",".join(map(str, replicas))
                    fields = {"partition": f"{topic}-0", "replicas": brokers}
                    cluster.perform("reassign", fields)
                    LABS[topic].wait_for_move(cluster)
                case "in-sync", names:
                    for lab in (LABS[str(one)] for one in names):
                        wait_until(partial(_whole, cluster, lab), f"{lab.topic} in sync")
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")


def _whole(cluster: Cluster, lab: LabCluster) -> bool:
    facts = lab.in_zookeeper(cluster)
    return {*facts.isr} == {*facts.replicas}
