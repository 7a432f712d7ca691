"""Start the cluster of exercise 09-6, keep its partition from being compacted, check the cluster's
state, and end the cluster.

kafka-python and confluent-kafka write all records, so no client of kafka-edu has shaped the data.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer
from kafka import KafkaProducer

from kafka_edu.supervisor.cluster import Cluster
from kafka_edu.supervisor.cluster_spec import Wish

from ...lab_cluster import (
    READ_LIMIT_S,
    LabCluster,
    keep_before,
    read_before,
    topic_facts,
    wait_until,
)
from ...runner.verdict import Step
from .facts import Facts, judge, limit
from .material import BATCH, IMPORT, KEYS, LAG, PRICE, ROLL, TOPIC, TRANSACTION, Plan, plan

NEVER_MS: Final = "864000000000"
DAY_MS: Final = "86400000"
PROPS: Final = {
    "zookeeper.session.timeout.ms": "12000",
    "log.cleaner.backoff.ms": "1000",
    "log.cleaner.min.cleanable.ratio": "0.1",
    "transaction.max.timeout.ms": DAY_MS,
    "auto.leader.rebalance.enable": "false",
}
SMALL, LARGE = "16384", "1073741824"
LAB: Final = LabCluster("09-6", TOPIC)
is_running = LAB.is_running
end = LAB.end


def settings_of(made: Plan) -> Mapping[str, str]:
    """Return the settings with which the topic is created."""
    return {
        "cleanup.policy": "compact",
        "segment.bytes": LARGE if made.kind == ROLL else SMALL,
        "min.compaction.lag.ms": NEVER_MS if made.kind in (LAG, BATCH) else "0",
    }


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, fill its topic, and make the trouble that the seed chooses. Raises
    ClusterError.

    The state with the trouble is saved in `folder`. The cluster outlives this process.
    """
    made = plan(seed)
    say("starting three brokers")
    with LAB.begun(Wish(brokers=3, props=PROPS), home) as cluster:
        cluster.wait_ready()
        LAB.create_topic(cluster, made.replicas, settings_of(made))
        say("writing prices")
        if made.kind == TRANSACTION:
            leave_open(cluster)
        _write(cluster, [f"{PRICE}{n % KEYS} {n}" for n in range(made.records)])
        if made.kind == BATCH:
            _damage(cluster, made)
        keep_before(folder, seed, look(cluster))


def _write(cluster: Cluster, values: Sequence[str]) -> None:
    """Write records, each with the first word of its value as its key. All are acknowledged."""
    with closing(
        KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all", batch_size=2_000)
    ) as producer:
        sent = [
            producer.send(
                TOPIC, f"{value} {'.' * 60}".encode(), key=value.partition(" ")[0].encode()
            )
            for value in values
        ]
        for one in sent:
            one.get(READ_LIMIT_S)


def _transactional(cluster: Cluster) -> Producer:
    return Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "transactional.id": IMPORT,
            "transaction.timeout.ms": int(DAY_MS),
        }
    )


def leave_open(cluster: Cluster) -> None:
    """Begin a transaction, write a record in it, and leave the transaction open."""
    producer = _transactional(cluster)
    producer.init_transactions(READ_LIMIT_S)
    producer.begin_transaction()
    producer.produce(TOPIC, b"import 0", key=b"import")
    producer.flush(READ_LIMIT_S)


def _damage(cluster: Cluster, made: Plan) -> None:
    """Change one byte of a record in a follower's first segment. Then let the cleaners run."""
    replica = cluster.replica(made.broker, TOPIC, 0)
    wait_until(lambda: len(list(replica.glob("*.log"))) > 3, "the follower's segments")
    with (replica / f"{0:020d}.log").open("r+b") as file:
        file.seek(200)
        byte = file.read(1)
        file.seek(200)
        file.write(bytes([byte[0] ^ 0xFF]))
    most = limit([_size(cluster, made.broker)])
    _set(cluster, "min.compaction.lag.ms=0")
    others = [number for number in range(3) if number != made.broker]
    _wait_small(cluster, others, most, "the other replicas' compaction")


def _wait_small(cluster: Cluster, brokers: Sequence[int], most: int, what: str) -> None:
    """Wait until none of these brokers' replicas has more than `most` bytes."""
    wait_until(lambda: all(_size(cluster, number) <= most for number in brokers), what)


def _set(cluster: Cluster, setting: str) -> None:
    cluster.perform("topic-config", {"topic": TOPIC, "setting": setting})


def _size(cluster: Cluster, broker: int) -> int:
    """Return the bytes of the batches in a broker's replica."""
    files = cluster.replica(broker, TOPIC, 0).glob("*.log")
    return sum(file.stat().st_size for file in files if file.exists())


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the cluster's current state. Yield each result. Raises ClusterError if it is not up."""
    with closing(LAB.attach(home)) as cluster:
        _, before = read_before(folder)
        say("looking at brokers, logs and records")
        now = look(cluster)
    yield from judge(facts_of(before), now)


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    states, topic, sizes, records = fields.values()
    return Facts(tuple(states), topic_facts(topic), tuple(sizes), tuple(records))


def look(cluster: Cluster) -> Facts:
    """Collect the facts about the cluster's current state."""
    status = cluster.status()
    topic = LAB.in_zookeeper(cluster)
    return Facts(
        tuple(status.broker(number).state for number in cluster.broker_ids),
        topic,
        tuple(_size(cluster, number) for number in cluster.broker_ids),
        LAB.read_all(cluster) if topic.created else (),
    )


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster. Raises ClusterError.

    "set" changes a setting of the topic. "write" writes records with new keys. "end-transaction"
    starts a new producer with the transactional.id of the open transaction. "fresh-replica" stops a
    broker, removes its replica and starts the broker. "restart" and "stop" restart and stop a
    broker. "topic-again" deletes the topic and creates it again. "small" waits until no replica has
    more bytes than its argument.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "set", [str(setting)]:
                    _set(cluster, setting)
                case "write", [int(count)]:
                    _write(cluster, [f"other-{n % 5} {n}" for n in range(count)])
                case "end-transaction", []:
                    _transactional(cluster).init_transactions(READ_LIMIT_S)
                case "fresh-replica", [int(broker)]:
                    cluster.stop(broker)
                    shutil.rmtree(cluster.replica(broker, TOPIC, 0))
                    cluster.start(broker)
                    wait_until(
                        lambda: set(LAB.in_zookeeper(cluster).isr) == {0, 1, 2}, "the whole ISR"
                    )
                case "stop", [int(broker)]:
                    cluster.stop(broker)
                case "restart", [int(broker)]:
                    cluster.stop(broker)
                    cluster.start(broker)
                case "topic-again", [list(replicas)]:
                    LAB.create_again(cluster, replicas, {"cleanup.policy": "compact"})
                case "small", [int(most)]:
                    _wait_small(cluster, range(3), most, "the compaction of all replicas")
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")
