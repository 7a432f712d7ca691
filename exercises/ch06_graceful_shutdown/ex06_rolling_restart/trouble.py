"""Start the cluster of exercise 06-6 and its shop, check their state, and end them."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from kafka_edu.clients.admin.config_calls import ConfigResource
from kafka_edu.clients.blocking import Admin
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.protocol.messages.describe_configs import ResourceType
from kafka_edu.supervisor.cluster import Cluster
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish

from ...lab_cluster import (
    CLIENT_PATIENCE_MS,
    LabCluster,
    keep_before,
    properties_of,
    read_before,
    restart,
    set_property,
    topic_facts,
    wait_until,
    zookeeper_of,
)
from ...lab_program import LabProgram
from ...runner.verdict import Step
from .facts import NOBODY, Facts, judge
from .material import GIVES_UP_MS, SESSION_MS, SETTING, TOPIC, plan
from .shop import NOTES, Seen

SETTINGS: Final = {"min.insync.replicas": "2"}
PROPS: Final = {
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
}
FIRST_ORDERS: Final = 20
SHOP: Final = LabProgram(f"{__package__}.shop", NOTES)
LAB: Final = LabCluster("06-6", TOPIC)
is_running = LAB.is_running


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster and its shop. Then stop the broker chosen by the seed. Raises ClusterError.

    The state before the work is saved in `folder`. Cluster and shop run on when this process ends.
    """
    made = plan(seed)
    say("starting three brokers")
    with LAB.begun(Wish(brokers=3, props=PROPS), home) as cluster:
        cluster.wait_ready()
        others = [number for number in range(3) if number != made.preferred]
        LAB.create_topic(cluster, (made.preferred, *others), SETTINGS)
        say("the shop opens")
        open_shop(cluster, home)
        wait_until(lambda: _shop_works(cluster), "the first orders of the shop")
        cluster.stop(made.down)
        wait_until(lambda: len(LAB.in_zookeeper(cluster).isr) == 2, "two replicas in the ISR")
        keep_before(folder, seed, look(cluster))


def open_shop(cluster: Cluster, home: Path | None) -> None:
    """Start the shop as a process of its own. It ends when the cluster's supervisor ends."""
    words = (cluster.bootstrap_servers, cluster.zookeeper_connect, TOPIC, str(GIVES_UP_MS))
    SHOP.start(ClusterFolder.of(LAB.name, home), *words)


def _shop_works(cluster: Cluster) -> bool:
    seen = shop_of(cluster.folder)
    return seen is not None and min(seen.acked, seen.read) >= FIRST_ORDERS


def shop_of(folder: ClusterFolder) -> Seen | None:
    """Return the shop's notes, or None if the shop has not written notes yet."""
    notes = SHOP.read(folder)
    return None if notes is None else Seen(**notes)


def end(home: Path | None = None) -> bool:
    """End the cluster and its shop. Return False if no cluster was running. Raises ClusterError."""
    if LAB.is_running(home):
        SHOP.end(ClusterFolder.of(LAB.name, home))
    return LAB.end(home)


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the current state of cluster and shop. Yield each result. Raises ClusterError."""
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        say("looking at brokers, settings, ZooKeeper, the shop, and its orders")
        now = look(cluster)
    yield from judge(plan(seed), facts_of(before), now)


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    states, topic, leader, properties, values, epoch, shop, orders = fields.values()
    return Facts(
        tuple(states),
        topic_facts(topic),
        leader,
        tuple(properties),
        tuple(values),
        epoch,
        None if shop is None else Seen(*shop),
        tuple(orders),
    )


def look(cluster: Cluster) -> Facts:
    """Collect the facts about the current state. The shop's notes are read before the orders of the
    topic, so the topic must contain each order that is acknowledged in the notes.
    """
    status = cluster.status()
    topic, seen = LAB.in_zookeeper(cluster), shop_of(cluster.folder)
    leader, epoch = NOBODY, 0
    with zookeeper_of(cluster) as zookeeper:
        epoch = int(zookeeper.get("/controller_epoch")[0])
        if topic.created:
            state = zookeeper.get(f"/brokers/topics/{TOPIC}/partitions/0/state")[0]
            leader = json.loads(state)["leader"]
    return Facts(
        tuple(status.broker(number).state for number in cluster.broker_ids),
        topic,
        leader,
        tuple(properties_of(cluster, number) for number in cluster.broker_ids),
        tuple(
            value_of(cluster, number) if status.broker(number).state == "running" else ""
            for number in cluster.broker_ids
        ),
        epoch,
        seen,
        LAB.read_all(cluster) if topic.created else (),
    )


def value_of(cluster: Cluster, broker: int) -> str:
    """Return the value of SETTING that the broker works with; "" if it does not answer."""
    servers = f"127.0.0.1:{cluster.port(broker)}"
    wanted = ConfigResource(ResourceType.BROKER, str(broker))
    try:
        with Admin({"bootstrap.servers": servers}) as admin:
            configs = admin.describe_configs([wanted], timeout_ms=CLIENT_PATIENCE_MS)[wanted]
    except ClientException:
        return ""
    return str(configs[SETTING].value) if SETTING in configs else ""


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster. Raises ClusterError.

    "set" writes SETTING into each broker's server.properties. "property" writes a different
    setting. "start", "kill" and "restart" act on one broker. "restart-others" restarts all brokers
    except the controller and the named broker. "restart-controller" restarts the controller.
    "in-sync" waits until all replicas are in the ISR. "prefer" elects the preferred leader.
    "stop-both" stops two brokers at once and starts them again. "gives-up" waits until the shop
    gives up an order.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            _perform(cluster, str(name), values)


def _perform(cluster: Cluster, name: str, values: Sequence[object]) -> None:
    match name, values:
        case "set", [int(value)]:
            for number in cluster.broker_ids:
                set_property(cluster, number, SETTING, str(value))
        case "property", [int(broker), str(key), str(value)]:
            set_property(cluster, broker, key, value)
        case "start", [int(broker)]:
            cluster.start(broker)
        case "kill", [int(broker)]:
            cluster.kill(broker)
        case "restart", [int(broker)]:
            restart(cluster, broker)
        case "restart-others", [int(but)]:
            chief = _controller(cluster)
            for number in set(cluster.broker_ids) - {chief, but}:
                restart(cluster, number)
                _in_sync(cluster)
        case "restart-controller", []:
            restart(cluster, _controller(cluster))
        case "stop-both", [int(one), int(other)]:
            for number in (one, other):
                cluster.stop(number)
            for number in (one, other):
                cluster.start(number)
        case "in-sync", []:
            _in_sync(cluster)
        case "prefer", []:
            cluster.perform("elect-preferred", {"partition": f"{TOPIC}-0"})
        case "gives-up", []:
            wait_until(lambda: _has_given_up(cluster), "an order that is given up")
        case _:
            raise ValueError(f"there is no act {name!r} with {values}")


def _has_given_up(cluster: Cluster) -> bool:
    seen = shop_of(cluster.folder)
    return seen is not None and bool(seen.given_up)


def _in_sync(cluster: Cluster) -> None:
    wait_until(lambda: len(LAB.in_zookeeper(cluster).isr) == 3, "the whole ISR")


def _controller(cluster: Cluster) -> int:
    with zookeeper_of(cluster) as zookeeper:
        return int(json.loads(zookeeper.get("/controller")[0])["brokerid"])
