"""Start the cluster and the shop of exercise 12-7, cause the trouble, check both, and end both.

The shop's producer is kafka-edu's. kafka-python reads the records: an independent client judges.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from kafka_edu.supervisor.cluster import Cluster
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish

from ...lab_cluster import (
    LabCluster,
    answering,
    elect_controller,
    faults_of_links,
    keep_before,
    read_before,
    restart,
    slow_link,
    topic_facts,
    wait_until,
)
from ...lab_program import LabProgram, set_setting
from ...runner.verdict import Step
from .facts import Facts, is_calm, judge
from .material import BROKERS, FAR_MS, LINK, RATE, SETTINGS, TOPIC, plan, settings
from .shop import NOTES, Seen

PROPS: Final = {
    "auto.leader.rebalance.enable": "false",
    "replica.lag.time.max.ms": "1800000",
}
TOPIC_SETTINGS: Final = {"min.insync.replicas": "2"}
FIRST_ORDERS: Final = 20
TURNED_AWAY: Final = 50
"""The trouble has begun when the shop has refused this number of orders."""
ORDERS: Final = 40 * RATE
"""The check watches this number of orders. A shop that works is calm after far fewer. The clock
does not count, because the shop itself is slow on a busy machine.
"""
SHOP: Final = LabProgram(f"{__package__}.shop", NOTES)
LAB: Final = LabCluster("12-7", TOPIC)
is_running = LAB.is_running


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster and its shop, and let the buffer of its producer get full. Raises
    ClusterError.

    The state in the trouble is saved in `folder`. Both run on when this process ends.
    """
    made = plan(seed)
    file = folder / SETTINGS
    file.write_text(settings(seed), encoding="utf-8")
    say("starting three brokers")
    with LAB.begun(Wish(brokers=BROKERS, props=PROPS), home) as cluster:
        # Not at an end of the link that is cut, so that the leader can be changed.
        elect_controller(cluster, made.far)
        LAB.create_topic(cluster, (made.leader, made.near, made.far), TOPIC_SETTINGS)
        slow_link(cluster, made.leader, made.far, FAR_MS)
        say("the shop opens")
        open_shop(cluster, file, home)
        wait_until(lambda: _acked(cluster) >= FIRST_ORDERS, "the first orders of the shop")
        say("now the trouble begins")
        if made.cause == LINK:
            ends = {"broker": made.leader, "other": made.near}
            cluster.perform("cut-link", ends, hidden=True)
        wait_until(partial(_is_full, cluster), "a full buffer")
        # Without the links: the file is next to the ticket, and must not say which one is cut.
        keep_before(folder, seed, look(cluster)._replace(links=()))


def open_shop(cluster: Cluster, file: Path, home: Path | None) -> None:
    """Start the shop as a process of its own. It ends when the cluster's supervisor ends."""
    words = (cluster.bootstrap_servers, TOPIC, str(file.absolute()))
    SHOP.start(ClusterFolder.of(LAB.name, home), *words)


def shop_of(folder: ClusterFolder) -> Seen | None:
    """Return the shop's notes. None: it has not written any yet."""
    notes = SHOP.read(folder)
    return None if notes is None else Seen(**notes)


def _acked(cluster: Cluster) -> int:
    seen = shop_of(cluster.folder)
    return seen.acked_in_all if seen is not None else 0


def _is_full(cluster: Cluster) -> bool:
    seen = shop_of(cluster.folder)
    return seen is not None and seen.turned_away >= TURNED_AWAY


def end(home: Path | None = None) -> bool:
    """End the cluster and its shop. Return False if none was running. Raises ClusterError."""
    if LAB.is_running(home):
        SHOP.end(ClusterFolder.of(LAB.name, home))
    return LAB.end(home)


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the current state of cluster and shop. Yield each result. Raises ClusterError."""
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        say(f"watching the shop, for {ORDERS:,} of its orders at most")
        began = watch(cluster)
        say("looking at brokers, links, ZooKeeper, the shop and the log")
        now = look(cluster)._replace(watched=began)
    yield from judge(plan(seed), facts_of(before), now)


def watch(cluster: Cluster) -> Seen | None:
    """Watch the shop until it keeps up, or ORDERS orders have come, or its process has ended or
    hangs. Return its notes from the start of the check, or from the start of its current producer.
    """
    began: Seen | None = None
    for now in SHOP.watched(lambda: shop_of(cluster.folder)):
        if began is None or began.producer != now.producer:
            began = now
        come = now.taken - began.taken + now.turned_away - began.turned_away
        if is_calm(began, now) or come >= ORDERS:
            break
    return began


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    states, links, topic, shop, in_log, _ = fields.values()
    return Facts(
        tuple(states),
        tuple(links),
        topic_facts(topic),
        None if shop is None else Seen(*shop),
        in_log,
    )


def look(cluster: Cluster) -> Facts:
    """Collect the facts about the current state. The shop's notes are read before the log, so the
    log must already have each order that the notes call acknowledged.
    """
    status = cluster.status(hidden=True)
    seen = shop_of(cluster.folder)
    topic = LAB.in_zookeeper(cluster)
    return Facts(
        tuple(status.broker(number).state for number in cluster.broker_ids),
        faults_of_links(cluster),
        topic,
        seen,
        _in_log(cluster) if topic.created else 0,
    )


def _in_log(cluster: Cluster) -> int:
    """Return the number of records in the log that a consumer can read; 0 if no broker answers."""
    servers = answering(cluster)
    if not servers:
        return 0
    partition = TopicPartition(TOPIC, 0)
    try:
        with closing(KafkaConsumer(bootstrap_servers=servers, group_id=None)) as consumer:
            first = consumer.beginning_offsets([partition])[partition]
            return int(consumer.end_offsets([partition])[partition] - first)
    except KafkaError:
        return 0


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster and the shop. Raises ClusterError.

    "heal-link", "cut-link" and "restart" do what their names say. "set" changes a setting of the
    shop. "leader" makes a broker the first replica and the leader. "topic-config" changes a setting
    of the topic. "reassign" moves the topic. "stop" stops a broker. "topic-again" deletes the topic
    and creates it again.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "heal-link" | "cut-link", [int(one), int(other)]:
                    cluster.perform(str(name), {"broker": one, "other": other})
                case "restart", [int(broker)]:
                    restart(cluster, broker)
                case "stop", [int(broker)]:
                    cluster.stop(broker)
                case "set", [str(key), str(value)]:
                    _set(cluster, key, value)
                case "leader", [int(broker), int(one), int(other)]:
                    replicas = f"{broker},{one},{other}"
                    cluster.perform("reassign", {"partition": f"{TOPIC}-0", "replicas": replicas})
                    wait_until(partial(_is_first, cluster, broker), "the order of the replicas")
                    cluster.perform("elect-preferred", {"partition": f"{TOPIC}-0"})
                case "reassign", [str(replicas)]:
                    cluster.perform("reassign", {"partition": f"{TOPIC}-0", "replicas": replicas})
                    LAB.wait_for_move(cluster)
                case "topic-config", [str(setting)]:
                    cluster.perform("topic-config", {"topic": TOPIC, "setting": setting})
                case "topic-again", [list(replicas)]:
                    LAB.create_again(cluster, replicas, TOPIC_SETTINGS)
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")


def _is_first(cluster: Cluster, broker: int) -> bool:
    facts = LAB.in_zookeeper(cluster)
    return facts.replicas[:1] == (broker,) and not facts.adding and not facts.removing


def _set(cluster: Cluster, key: str, value: str) -> None:
    """Write a setting of the shop, as an operator does with an editor, and wait until it is used
    or refused.
    """
    seen = shop_of(cluster.folder)
    assert seen is not None
    set_setting(Path(seen.file), key, value)
    wait_until(lambda: _has_read(cluster, seen.producer), "the shop's new settings")


def _has_read(cluster: Cluster, producer: int) -> bool:
    seen = shop_of(cluster.folder)
    return seen is not None and (seen.producer > producer or bool(seen.complaint))
