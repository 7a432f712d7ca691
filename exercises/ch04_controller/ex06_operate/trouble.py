"""Start the cluster of exercise 04-6, cause its trouble, check its state, and end it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from kafka_edu.supervisor.cluster import Cluster, ClusterError
from kafka_edu.supervisor.cluster_spec import Wish

from ...lab_cluster import (
    LabCluster,
    faults_of_links,
    keep_before,
    read_before,
    restart,
    slow_link,
    topic_facts,
)
from ...runner.verdict import Step
from .facts import Facts, judge
from .material import BROKERS, FAR_MS, TOPIC, plan

SETTINGS: Final = {"min.insync.replicas": "1"}
OFFICE_TRIES: Final = 20
LAB: Final = LabCluster("04-6", TOPIC)
is_running = LAB.is_running
end = LAB.end


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, fill its topic, and order a move. The move stops, because this function
    cuts a link. No event and no status shows the cut link. Raises ClusterError.

    The state before the trouble is saved in `folder`. The cluster runs on when this process ends.
    """
    made = plan(seed)
    say("starting four brokers")
    with LAB.begun(Wish(brokers=BROKERS), home) as cluster:
        controller = elect_other(cluster, (made.leader, made.new), say)
        say(f"writing {made.records} orders, as long as all is well")
        LAB.create_topic(cluster, (made.leader, made.old), SETTINGS)
        LAB.write_orders(cluster, made.records)
        slow_link(cluster, made.old, made.far, FAR_MS)
        keep_before(folder, seed, look(cluster))
        say("now the trouble begins")
        other = controller if made.missing == "orders" else made.leader
        cluster.perform("cut-link", {"broker": made.new, "other": other}, hidden=True)
        move(cluster, (made.leader, made.new))
        acked_ms, error = LAB.send_one(cluster, timeout_ms=30_000)
        now = LAB.in_zookeeper(cluster)
        if acked_ms is None:
            raise ClusterError(f"the topic does not take records: {error}")
        if made.new in now.isr or now.adding != (made.new,):
            raise ClusterError("no trouble came up: the move has ended")
        say(f"the move waits for a replica; a record was taken meanwhile, in {acked_ms} ms")


def elect_other(cluster: Cluster, others: tuple[int, ...], say: Callable[[str], None]) -> int:
    """Restart the controller until it is none of `others`. Return its id. Raises ClusterError."""
    controller = cluster.wait_ready()
    for _ in range(OFFICE_TRIES):
        if controller not in others:
            return controller
        say(f"broker {controller} gives the controller's office to another one")
        restart(cluster, controller)
        controller = cluster.wait_ready()
    raise ClusterError(f"broker {controller} became the controller {OFFICE_TRIES} times")


def move(cluster: Cluster, replicas: Sequence[int]) -> None:
    """Order a move of the partition to these brokers. Raises ClusterError."""
    brokers = ",".join(map(str, replicas))
    cluster.perform("reassign", {"partition": f"{TOPIC}-0", "replicas": brokers})


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the cluster's current state, and yield each result. Raises ClusterError if the cluster
    is not up.
    """
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        say("looking at brokers, links, ZooKeeper and records")
        now = look(cluster)
    yield from judge(plan(seed), facts_of(before), now)


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    states, pids, links, topic, records = fields.values()
    return Facts(tuple(states), tuple(pids), tuple(links), topic_facts(topic), tuple(records))


def look(cluster: Cluster) -> Facts:
    """Collect the facts about the cluster's current state."""
    status = cluster.status(hidden=True)
    brokers = [status.broker(number) for number in cluster.broker_ids]
    topic = LAB.in_zookeeper(cluster)
    return Facts(
        tuple(broker.state for broker in brokers),
        tuple(broker.pid for broker in brokers),
        faults_of_links(cluster),
        topic,
        LAB.read_all(cluster) if topic.created else (),
    )


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster. Raises ClusterError.

    "heal" heals the link that the trouble cut. "heal-link", "restart" and "reassign" do what their
    names say. "wait-for-move" returns when no move is running any more. "topic-again" deletes the
    topic and creates it again.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "heal", [int(broker), str(end)]:
                    other = cluster.wait_ready() if end == "controller" else int(end)
                    cluster.perform("heal-link", {"broker": broker, "other": other})
                case "heal-link", [int(one), int(other)]:
                    cluster.perform("heal-link", {"broker": one, "other": other})
                case "restart", [int(broker)]:
                    restart(cluster, broker)
                case "reassign", [list(replicas)]:
                    move(cluster, replicas)
                case "wait-for-move", []:
                    LAB.wait_for_move(cluster)
                case "topic-again", [list(replicas)]:
                    LAB.create_again(cluster, replicas, SETTINGS)
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")
