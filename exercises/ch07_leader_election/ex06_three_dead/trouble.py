"""Start the cluster of exercise 07-6, kill its brokers, check its state, and end it."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from kafka_edu.supervisor.cluster import Cluster, ClusterError
from kafka_edu.supervisor.cluster_spec import Wish

from ...lab_cluster import LabCluster, keep_before, read_before, topic_facts, wait_until
from ...runner.verdict import Step
from .facts import Facts, judge
from .material import TOPIC, plan

SETTINGS: Final = {"min.insync.replicas": "1"}
PROPS: Final = {"zookeeper.session.timeout.ms": "6000", "auto.leader.rebalance.enable": "false"}
LAB: Final = LabCluster("07-6", TOPIC)
is_running = LAB.is_running
end = LAB.end


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, fill its topic, and kill the brokers in the order that the seed chooses.
    Raises ClusterError.

    The state before the trouble is saved in `folder`. The cluster runs on when this process ends.
    """
    made = plan(seed)
    say("starting three brokers")
    with LAB.begun(Wish(brokers=3, props=PROPS), home) as cluster:
        cluster.wait_ready()
        LAB.create_topic(cluster, made.deaths, SETTINGS)
        say("writing orders, as long as all is well")
        LAB.write_orders(cluster, made.written[0])
        keep_before(folder, seed, look(cluster))
        say("now the trouble begins")
        first = made.written[0]
        for number, dies in enumerate(made.deaths[:2], 1):
            cluster.kill(dies)
            left = set(made.deaths[number:])
            wait_until(lambda left=left: _isr(cluster) == left, "an ISR without the dead")  # type: ignore[misc]
            LAB.write_orders(cluster, made.written[number], first)
            first += made.written[number]
        last = made.deaths[2]
        cluster.kill(last)
        if made.disk_gone:
            for log_dir in cluster.log_dirs(last):
                shutil.rmtree(log_dir)
                log_dir.mkdir()
        say("all three are dead")


def _isr(cluster: Cluster) -> set[int]:
    return set(LAB.in_zookeeper(cluster).isr)


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the cluster's current state, and yield each result. Raises ClusterError if the cluster
    is not up.
    """
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        say("looking at brokers, ZooKeeper and records")
        now = look(cluster)
    yield from judge(plan(seed), facts_of(before), now)


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    states, topic, records = fields.values()
    return Facts(tuple(states), topic_facts(topic), tuple(records))


def look(cluster: Cluster) -> Facts:
    """Collect the facts about the cluster's current state."""
    status = cluster.status()
    topic = LAB.in_zookeeper(cluster)
    return Facts(
        tuple(status.broker(number).state for number in cluster.broker_ids),
        topic,
        LAB.read_all(cluster) if topic.created else (),
    )


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster. Raises ClusterError.

    "start" starts a broker. "unclean" orders an unclean election until it succeeds. "in-sync" waits
    until all running brokers are in the ISR. "topic-again" deletes the topic and creates it again
    with the same settings.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "start", [int(broker)]:
                    cluster.start(broker)
                case "unclean", []:
                    wait_until(lambda: _elected(cluster), "an unclean election")
                case "in-sync", []:
                    running = set(cluster.status().running_brokers)
                    wait_until(lambda running=running: _isr(cluster) == running, "the whole ISR")  # type: ignore[misc]
                case "topic-again", [list(replicas)]:
                    LAB.create_again(cluster, replicas, SETTINGS)
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")


def _elected(cluster: Cluster) -> bool:
    try:
        cluster.perform("elect-unclean", {"partition": f"{TOPIC}-0"})
    except ClusterError:
        return False
    return True
