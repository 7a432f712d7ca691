"""Start the cluster of exercise 05-7, cause its trouble, check its state, and end it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from kafka_edu.supervisor.cluster import Cluster, ClusterError
from kafka_edu.supervisor.cluster_spec import Wish

from ...lab_cluster import (
    LabCluster,
    keep_before,
    properties_of,
    read_before,
    restart,
    set_property,
    topic_facts,
    zookeeper_of,
)
from ...runner.verdict import Step
from .facts import Facts, judge
from .material import SESSION_KEY, SESSION_MS, SHORT_SESSION_MS, TOPIC, Plan, plan

SETTINGS: Final = {"min.insync.replicas": "1"}
STALLS_WATCHED: Final = 2
LIMIT_S: Final = 300.0
"""The longest wait in s for the effects of stalls. A busy machine can delay them."""
LAB: Final = LabCluster("05-7", TOPIC)
is_running = LAB.is_running
end = LAB.end


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, fill its topic, and let machines stall again and again. No event and no
    status shows the stalls. Raises ClusterError.

    The state before the trouble is saved in `folder`. The cluster runs on when this process ends.
    """
    made = plan(seed)
    say("starting three brokers")
    short = {SESSION_KEY: str(SHORT_SESSION_MS)} if made.cause == "setting" else {}
    wish = Wish(brokers=3, props={SESSION_KEY: str(SESSION_MS)}, broker_props={made.victim: short})
    with LAB.begun(wish, home) as cluster:
        cluster.wait_ready()
        say(f"writing {made.records} orders, as long as all is well")
        others = [number for number in range(3) if number != made.victim]
        LAB.create_topic(cluster, (made.victim, *others), SETTINGS)
        LAB.write_orders(cluster, made.records)
        say("now the trouble begins")
        life = life_of(cluster, made.victim)
        for number in range(3) if made.cause == "setting" else (made.victim,):
            stall(cluster, made, number)
        keep_before(folder, seed, look(cluster))
        end_s = time.monotonic() + LIMIT_S
        while life_of(cluster, made.victim) in (life, 0):
            if time.monotonic() > end_s:
                raise ClusterError("no trouble came up: no session has ended")
            time.sleep(0.2)
        say(f"broker {made.victim} has lost its session, and is back")


def stall(cluster: Cluster, made: Plan, broker: int) -> None:
    """Let the machine of this broker stall again and again."""
    fields = {"broker": broker, "stall_ms": made.stall_ms, "every_ms": made.every_ms}
    cluster.perform("stall", fields, hidden=True)


def life_of(cluster: Cluster, broker: int) -> int:
    """Return the czxid of the broker's znode in /brokers/ids, or 0 if there is no such znode."""
    with zookeeper_of(cluster) as zookeeper:
        stat = zookeeper.exists(f"/brokers/ids/{broker}")
        return stat.czxid if stat is not None else 0


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the cluster's current state, and yield each result. Raises ClusterError if the cluster
    is not up.
    """
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        made = plan(seed)
        say(f"watching broker {made.victim} through its next stalls")
        lives, watched = watch(cluster, made)
        say("looking at brokers, settings, ZooKeeper and records")
        now = look(cluster)._replace(lives=lives, stalls_watched=watched)
    yield from judge(made, facts_of(before), now)


def watch(cluster: Cluster, made: Plan) -> tuple[tuple[int, int], int]:
    """Watch the victim during some stalls. Return its `life_of` before and after them, and the
    number of stalls.
    """

    def count() -> int | None:
        stalls = cluster.status(hidden=True).stalls
        mine = [one.ended for one in stalls if one.process == f"broker-{made.victim}"]
        return mine[0] if mine else None

    first, began = life_of(cluster, made.victim), count()
    end_s = time.monotonic() + LIMIT_S
    ended = began
    while began is not None and time.monotonic() < end_s:
        ended = count()
        if ended is None or ended >= began + STALLS_WATCHED:
            break
        time.sleep(0.2)
    last = life_of(cluster, made.victim)
    return (first, last), (ended or 0) - (began or 0) if ended is not None else 0


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    states, pids, stalls, topic, properties, records, lives, watched = fields.values()
    return Facts(
        tuple(states),
        tuple(pids),
        tuple(stalls),
        topic_facts(topic),
        tuple(properties),
        tuple(records),
        tuple(lives),
        watched,
    )


def look(cluster: Cluster) -> Facts:
    """Collect the facts about the cluster's current state."""
    status = cluster.status(hidden=True)
    brokers = [status.broker(number) for number in cluster.broker_ids]
    topic = LAB.in_zookeeper(cluster)
    return Facts(
        tuple(broker.state for broker in brokers),
        tuple(broker.pid for broker in brokers),
        tuple(map(str, status.stalls)),
        topic,
        tuple(properties_of(cluster, number) for number in cluster.broker_ids),
        LAB.read_all(cluster) if topic.created else (),
    )


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster. Raises ClusterError.

    "set" writes a key into a broker's server.properties. "restart" restarts a broker. "steady" ends
    the stalls of a broker. "topic-again" deletes the topic and creates it again.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "set", [int(broker), str(key), str(value)]:
                    set_property(cluster, broker, key, value)
                case "restart", [int(broker)]:
                    restart(cluster, broker)
                case "steady", [int(broker)]:
                    cluster.perform("steady", {"broker": broker})
                case "topic-again", [list(replicas)]:
                    LAB.create_again(cluster, replicas, SETTINGS)
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")
