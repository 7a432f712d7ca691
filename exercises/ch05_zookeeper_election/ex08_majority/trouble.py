"""Start the cluster of exercise 05-8, cause its trouble, check its state, and end it."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from kafka_edu.supervisor.cluster import Cluster, ClusterError
from kafka_edu.supervisor.cluster_spec import Wish
from kafka_edu.trace.event import Source, SourceKind

from ...lab_cluster import LabCluster, keep_before, read_before, topic_facts, zookeeper_of
from ...runner.verdict import Step
from .facts import Facts, judge, serves
from .material import SERVERS, TOPIC, plan

SETTINGS: Final = {"min.insync.replicas": "1"}
NO_LEADER_MS: Final = 5_000
LIMIT_S: Final = 120.0
"""The longest wait in s until all replicas have caught up after an election."""
LAB: Final = LabCluster("05-8", TOPIC)
is_running = LAB.is_running
end = LAB.end


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, fill its topic, and kill the processes of one rack. Raises ClusterError,
    for example if there is no Java and the download of Java fails.

    The state before the trouble is saved in `folder`. The cluster runs on when this process ends.
    """
    made = plan(seed)
    say("starting three servers of Apache ZooKeeper, and three brokers")
    with LAB.begun(Wish(brokers=3, zookeeper="apache", zookeepers=SERVERS), home) as cluster:
        cluster.wait_ready()
        say(f"writing {made.records} orders, as long as all is well")
        others = [number for number in range(3) if number != made.leader]
        LAB.create_topic(cluster, (made.leader, *others), SETTINGS)
        LAB.write_orders(cluster, made.records)
        keep_before(folder, seed, look(cluster))
        say("now a rack loses its power")
        for server in (made.damaged, made.stopped):
            cluster.act("kill", _server(server))
        damage(cluster, made.damaged, made.file)
        cluster.kill(made.leader)
        acked_ms, error = LAB.send_one(cluster, NO_LEADER_MS)
        if acked_ms is not None:
            raise ClusterError(f"no trouble came up: a produce took {acked_ms} ms")
        say(f"a produce has failed: {error}")


def _server(number: int) -> Source:
    return Source(SourceKind.ZOOKEEPER, number)


def data_of(cluster: Cluster, server: int) -> Path:
    """Return the folder with a ZooKeeper server's snapshots, logs and epoch files."""
    return cluster.folder.zookeeper(f"zookeeper-{server}") / "data" / "version-2"


def damage(cluster: Cluster, server: int, file: str) -> None:
    """Damage a server's data as a disk might do: empty currentEpoch, or delete the snapshots."""
    data = data_of(cluster, server)
    if file == "currentEpoch":
        (data / file).write_text("", encoding="ascii")
    else:
        for snapshot in data.glob("snapshot.*"):
            snapshot.unlink()


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the cluster's current state, and yield each result. Raises ClusterError if the cluster
    is not up.
    """
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        say("looking at ZooKeeper's servers, brokers and records")
        now = look(cluster)
    yield from judge(plan(seed), facts_of(before), now)


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    servers, server_pids, states, pids, cluster_id, topic, records = fields.values()
    return Facts(
        tuple(servers),
        tuple(server_pids),
        tuple(states),
        tuple(pids),
        cluster_id,
        topic_facts(topic),
        tuple(records),
    )


def look(cluster: Cluster) -> Facts:
    """Collect the facts about the current state, after replicas that lag have caught up."""
    status = cluster.status()
    servers = [one for one in status.processes if one.source.kind is SourceKind.ZOOKEEPER]
    brokers = [status.broker(number) for number in cluster.broker_ids]
    facts = Facts(
        tuple(_mode(one.state, one.mode) for one in servers),
        tuple(one.pid for one in servers),
        tuple(broker.state for broker in brokers),
        tuple(broker.pid for broker in brokers),
    )
    if not serves(facts.servers):
        return facts
    with zookeeper_of(cluster) as zookeeper:
        stat = zookeeper.exists("/cluster/id")
    topic = LAB.in_zookeeper(cluster)
    end_s = time.monotonic() + LIMIT_S
    all_run = all(state == "running" for state in facts.states)
    while all_run and len(topic.isr) < len(topic.replicas) and time.monotonic() < end_s:
        time.sleep(0.2)
        topic = LAB.in_zookeeper(cluster)
    return facts._replace(
        cluster_id=stat.czxid if stat is not None else 0,
        topic=topic,
        records=LAB.read_all(cluster) if topic.created else (),
    )


def _mode(state: str, mode: str) -> str:
    if state != "running":
        return f"is {state}"
    return mode or "runs and serves nobody"


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster. Raises ClusterError.

    "wipe" removes the data of a ZooKeeper server. "start-server" and "stop-server" start and stop a
    ZooKeeper server. "start" and "restart" start and restart a broker.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "wipe", [int(server)]:
                    shutil.rmtree(data_of(cluster, server))
                case "start-server", [int(server)]:
                    cluster.act("start", _server(server))
                    cluster.wait_serves(server)
                case "stop-server", [int(server)]:
                    cluster.act("stop", _server(server))
                case "start", [int(broker)]:
                    cluster.start(broker)
                case "restart", [int(broker)]:
                    cluster.stop(broker)
                    cluster.start(broker)
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")
