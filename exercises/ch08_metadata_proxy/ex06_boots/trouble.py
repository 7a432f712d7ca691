"""Start the cluster of exercise 08-6 with two listeners, let a broker advertise a wrong address,
check the cluster's state, and end it.

kafka-python sends the order of the check, because an independent client stands for the shop.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from kafka import KafkaProducer
from kafka.errors import KafkaError

from kafka_edu.common.ports import free_ports
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.supervisor.cluster import Cluster
from kafka_edu.supervisor.cluster_spec import HOST, Wish

from ...lab_cluster import (
    LabCluster,
    keep_before,
    properties_of,
    read_before,
    restart,
    set_property,
    topic_facts,
    wait_until,
)
from ...learner_proxy import metadata
from ...runner.verdict import Step
from .facts import Facts, judge, outside_of, reaches
from .material import ANOTHER, INSIDE, NO_NAME, NOBODY, OUTSIDE, TOPIC, Plan, plan

SETTINGS: Final = {"min.insync.replicas": "2"}
PROPS: Final = {"zookeeper.session.timeout.ms": "30000", "auto.leader.rebalance.enable": "false"}
ORDERS: Final = 25
VERSION: Final = 5
NO_HOST: Final = "kafka-new.invalid"
"""A host name that does not exist: names that end in .invalid are reserved (RFC 6761)."""
PATIENCE_S: Final = 30.0
LAB: Final = LabCluster("08-6", TOPIC)
is_running = LAB.is_running
end = LAB.end


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, give each broker a listener for clients, and fill the topic. Then let one
    broker advertise the wrong address that the seed chooses. Raises ClusterError.

    The state before the trouble is saved in `folder`. The cluster runs on when this process ends.
    """
    made = plan(seed)
    say("starting three brokers")
    with LAB.begun(Wish(brokers=3, props=PROPS), home) as cluster:
        cluster.wait_ready()
        say("each gets a second listener")
        _open_doors(cluster)
        LAB.create_topic(cluster, made.replicas, SETTINGS)
        say("writing orders, as long as all is well")
        LAB.write_orders(cluster, ORDERS)
        wait_until(lambda: len(LAB.in_zookeeper(cluster).isr) == 3, "the whole ISR")
        before = look(cluster)
        say("now the trouble begins")
        advertise(cluster, made.broker, _wrong(made, before.outside))
        restart(cluster, made.broker)
        _lead(cluster, made.broker)
        keep_before(folder, seed, before)


def _open_doors(cluster: Cluster) -> None:
    """Give each broker a second listener, OUTSIDE, for clients, and restart all brokers."""
    free = free_ports(HOST)
    for broker in cluster.broker_ids:
        inside = f"{INSIDE}://{HOST}:{cluster.port(broker)}"
        outside = f"{OUTSIDE}://{HOST}:{next(free)}"
        for key, value in (
            ("listeners", f"{inside},{outside}"),
            ("advertised.listeners", f"{inside},{outside}"),
            ("listener.security.protocol.map", f"{INSIDE}:PLAINTEXT,{OUTSIDE}:PLAINTEXT"),
            ("inter.broker.listener.name", INSIDE),
        ):
            set_property(cluster, broker, key, value)
    for broker in cluster.broker_ids:
        cluster.stop(broker)
    for broker in cluster.broker_ids:
        cluster.start(broker)
    cluster.wait_ready()


def _wrong(made: Plan, outside: Sequence[str]) -> str:
    """Return the wrong address that the broker will advertise to clients, as host:port."""
    match made.kind:
        case kind if kind == ANOTHER:
            return outside[made.mixed_up_with]
        case kind if kind == NOBODY:
            return f"{HOST}:{next(free_ports(HOST))}"
    assert made.kind == NO_NAME
    return f"{NO_HOST}:{outside[made.broker].rpartition(':')[2]}"


def advertise(cluster: Cluster, broker: int, where: str) -> None:
    """Write `where` into a broker's server.properties, as the address for clients."""
    inside = f"{INSIDE}://{HOST}:{cluster.port(broker)}"
    set_property(cluster, broker, "advertised.listeners", f"{inside},{OUTSIDE}://{where}")


def _lead(cluster: Cluster, broker: int) -> None:
    """Wait until all replicas are in sync, and let this broker lead the topic again."""
    wait_until(lambda: len(LAB.in_zookeeper(cluster).isr) == 3, "the whole ISR")
    cluster.perform("elect-preferred", {"partition": f"{TOPIC}-0"})
    wait_until(lambda: _leader(cluster) == broker, f"the leadership of broker {broker}")


def _leader(cluster: Cluster) -> int:
    other = next(one for one in cluster.broker_ids if one != cluster.broker_ids[-1])
    try:
        answer = metadata(f"{HOST}:{cluster.port(other)}", [TOPIC], VERSION)
    except (OSError, ProtocolError):
        return -1
    return next((one.leader_id for topic in answer.topics for one in topic.partitions), -1)


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the cluster's current state, and yield each result. Raises ClusterError if the cluster
    is not up.
    """
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        say("looking at brokers, addresses, ZooKeeper and records, and sending an order")
        known = facts_of(before)
        now = look(cluster, known.outside)
    yield from judge(plan(seed), known, now)


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    states, pids, topic, listeners, outside, received, acked, why, records = fields.values()
    return Facts(
        tuple(states),
        tuple(pids),
        topic_facts(topic),
        tuple(listeners),
        tuple(outside),
        tuple(received),
        bool(acked),
        str(why),
        tuple(records),
    )


def look(cluster: Cluster, doors: Sequence[str] = ()) -> Facts:
    """Collect the facts about the current state. `doors` are the addresses of the listener OUTSIDE,
    if they are known.
    """
    status = cluster.status()
    listeners = tuple(
        properties_of(cluster, broker).get("listeners", "") for broker in cluster.broker_ids
    )
    outside = tuple(doors) or tuple(map(outside_of, listeners))
    topic = LAB.in_zookeeper(cluster)
    received = tuple(_received(outside, broker) for broker in cluster.broker_ids)
    records = LAB.read_all(cluster) if topic.created else ()
    acked, why = _send(outside, received)
    return Facts(
        tuple(status.broker(number).state for number in cluster.broker_ids),
        tuple(status.broker(number).pid for number in cluster.broker_ids),
        topic,
        listeners,
        outside,
        received,
        acked,
        why,
        records,
    )


def _received(outside: Sequence[str], broker: int) -> str:
    """Return the broker's address in the first Metadata answer that names the broker; "" if no
    answer does.
    """
    for door in outside:
        try:
            answer = metadata(door, [TOPIC], VERSION)
        except (OSError, ProtocolError):
            continue
        for one in answer.brokers:
            if one.node_id == broker:
                return f"{one.host}:{one.port}"
    return ""


def _send(outside: Sequence[str], received: Sequence[str]) -> tuple[bool, str]:
    """Send an order as the shop does. Return whether it was acknowledged, and the reason if not.

    If an advertised address is wrong, return at once without sending, because a client would try
    for half a minute.
    """
    wrong = [
        broker
        for broker, (where, one) in enumerate(zip(outside, received, strict=True))
        if not reaches(one, where)
    ]
    if wrong:
        return False, f"it would look for broker {wrong[0]} at {received[wrong[0]] or 'no address'}"
    wait_ms = round(PATIENCE_S * 1_000)
    try:
        with closing(
            KafkaProducer(
                bootstrap_servers=list(outside),
                acks="all",
                linger_ms=0,
                enable_idempotence=False,
                max_block_ms=wait_ms,
            )
        ) as producer:
            producer.send(TOPIC, b"an order of the shop", partition=0).get(PATIENCE_S)
    except KafkaError as error:
        return False, f"{type(error).__name__}: {error}"
    return True, ""


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster. Raises ClusterError.

    "advertise" lets one broker advertise the OUTSIDE address of a given broker. "listen" lets a
    broker listen at its advertised addresses. "restart" restarts a broker. "in-sync" waits until
    all three brokers are in the ISR. "topic-again" deletes the topic and creates it again.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "advertise", [int(broker), int(other)]:
                    found = properties_of(cluster, other)["listeners"]
                    advertise(cluster, broker, outside_of(found))
                case "listen", [int(broker)]:
                    properties = properties_of(cluster, broker)
                    set_property(cluster, broker, "listeners", properties["advertised.listeners"])
                case "restart", [int(broker)]:
                    restart(cluster, broker)
                case "in-sync", []:
                    wait_until(lambda: len(LAB.in_zookeeper(cluster).isr) == 3, "the whole ISR")
                case "topic-again", [list(replicas)]:
                    LAB.create_again(cluster, replicas, SETTINGS)
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")
