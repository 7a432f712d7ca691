"""The cluster of exercise 03-5: it is started, brought into trouble, looked at, and ended."""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, Literal

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaError

from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import (
    Cluster,
    ClusterError,
    attach,
    is_up,
    start_cluster,
    take_down,
)
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish

from ...runner.verdict import Step
from .facts import Facts, ack_limit_ms, judge
from .material import CLUSTER, FAR_MS, SLOW_MS, TIMEOUT_MS, TOPIC, Plan, plan

BEFORE: Final = "before.json"
PATIENCE_MS: Final = 5_000
CLIENT_PATIENCE_MS: Final = 30_000
"""For what does not depend on the trouble. The machine may be busy."""
READ_LIMIT_S: Final = 60.0
#: A follower that is behind stays in the ISR for an hour. Its session is not touched.
PATIENT_ISR: Final = {"replica.lag.time.max.ms": "3600000"}
SETTINGS: Final = {"min.insync.replicas": "2"}


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, fill its topic, and bring it into the trouble that the seed gives. That
    trouble is hidden: no event and no status names it. Raises ClusterError.

    The state before the trouble is kept in `folder`. The cluster outlives this process.
    """
    cluster_folder = ClusterFolder.of(CLUSTER, home)
    if is_up(cluster_folder):
        raise ClusterError(
            f"cluster '{CLUSTER}' is up already and in the way:"
            f" `{command_line('lab reset 03-5')}` ends it"
        )
    if cluster_folder.path.exists():
        shutil.rmtree(cluster_folder.path)  # stopped by hand: the trouble is made anew
    made = plan(seed)
    say("starting three brokers")
    cluster = start_cluster(CLUSTER, Wish(brokers=3, props=PATIENT_ISR), home)
    try:
        cluster.wait_ready()
        say(f"writing {made.records} orders, as long as all is well")
        create_topic(cluster, made)
        write_orders(cluster, made.records)
        slow(cluster, made.leader, made.far, FAR_MS)
        before = look(cluster, produce=False)
        text = json.dumps({"seed": seed, "facts": before._asdict()}, indent=1)
        (folder / BEFORE).write_text(text + "\n", encoding="utf-8")
        say("now the trouble begins")
        if made.cause == "cut":
            ends = {"broker": made.victim, "other": made.leader}
            cluster.perform("cut-link", ends, hidden=True)
        else:
            slow(cluster, made.leader, made.victim, SLOW_MS, hidden=True)
        acked_ms, error = send_one(cluster, TIMEOUT_MS)
        if acked_ms is not None:
            raise ClusterError(f"no trouble came up: a produce took {acked_ms} ms")
        say(f"a produce has failed: {error}")
        cluster.release()
        cluster.close()
    except BaseException:
        cluster.down(delete=True)
        raise


def is_running(home: Path | None = None) -> bool:
    """Return whether the cluster of the exercise is up."""
    return is_up(ClusterFolder.of(CLUSTER, home))


def end(home: Path | None = None) -> bool:
    """End the cluster and remove it. Returns False if there was none. Raises ClusterError."""
    folder = ClusterFolder.of(CLUSTER, home)
    was_up = is_up(folder)
    if was_up:
        take_down(folder)
        # The supervisor removes the lock first, and then the rest of the folder.
        end_s = time.monotonic() + READ_LIMIT_S
        while folder.path.exists() and time.monotonic() < end_s:
            time.sleep(0.02)
    shutil.rmtree(folder.path, ignore_errors=True)
    return was_up


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Yield what holds of the cluster now. Raises ClusterError if it is not up."""
    if not is_running(home):
        raise ClusterError(
            f"cluster '{CLUSTER}' is not up: `{command_line('lab start 03-5')}` starts it, with the"
            " trouble of your ticket"
        )
    document = json.loads((folder / BEFORE).read_text(encoding="utf-8"))
    before = facts_of(document["facts"])
    cluster = attach(CLUSTER, home)
    try:
        say("looking at brokers, links, ZooKeeper and records, and producing one record")
        now = look(cluster, produce=True)
    finally:
        cluster.close()
    yield from judge(plan(int(document["seed"])), before, now)


def facts_of(fields: dict[str, object]) -> Facts:
    """Return facts that were kept as JSON."""
    return Facts(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}  # type: ignore[arg-type]  # as written by begin
    )


def create_topic(cluster: Cluster, made: Plan) -> None:
    """Create the topic: broker `leader` leads its one partition."""
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        admin.create_topics(
            [
                NewTopic(
                    TOPIC,
                    num_partitions=-1,
                    replication_factor=-1,
                    replica_assignments={0: [made.leader, made.victim, made.far]},
                    topic_configs=SETTINGS,
                )
            ]
        )


def write_orders(cluster: Cluster, count: int) -> None:
    """Write that many records, each acknowledged by all."""
    with closing(
        KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all", linger_ms=0)
    ) as producer:
        sent = [producer.send(TOPIC, f"order {number}".encode()) for number in range(count)]
        for one in sent:
            one.get(READ_LIMIT_S)


def slow(cluster: Cluster, one: int, other: int, delay_ms: int, *, hidden: bool = False) -> None:
    """Delay what passes between two brokers, in each direction."""
    fields = {"broker": one, "other": other, "delay_ms": delay_ms}
    cluster.perform("slow-link", fields, hidden=hidden)


def look(cluster: Cluster, *, produce: bool) -> Facts:
    """Return the state now. With `produce`, it also sends one record with acks=all."""
    status = cluster.status(hidden=True)
    brokers = [status.broker(number) for number in cluster.broker_ids]
    topic, replicas, isr, settings = look_into_zookeeper(cluster)
    facts = Facts(
        tuple(broker.state for broker in brokers),
        tuple(broker.pid for broker in brokers),
        tuple(
            f"{min(one.broker, one.other)}-{max(one.broker, one.other)} {one.state}"
            for one in status.links
        ),
        topic,
        replicas,
        isr,
        settings,
    )
    if not topic:
        return facts._replace(error=f"there is no topic {TOPIC}")
    if not produce:
        return facts._replace(records=read_all(cluster))
    alone_ms, error = send_one(cluster, CLIENT_PATIENCE_MS, acks=1)
    if alone_ms is None:
        return facts._replace(records=read_all(cluster), error=error)
    patience_ms = max(PATIENCE_MS, ack_limit_ms(alone_ms) + 1_000)
    acked_ms, error = send_one(cluster, patience_ms)
    return facts._replace(
        records=read_all(cluster), acked_ms=acked_ms, error=error, leader_alone_ms=alone_ms
    )


def look_into_zookeeper(cluster: Cluster) -> tuple[int, tuple[int, ...], tuple[int, ...], str]:
    """Return the topic's czxid, its replicas, its ISR, and all settings."""
    from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types
    from kazoo.exceptions import NoNodeError  # type: ignore[import-untyped]

    zookeeper = KazooClient(cluster.zookeeper_connect, timeout=6.0)
    zookeeper.start(timeout=READ_LIMIT_S)
    try:

        def config(path: str) -> dict[str, str]:
            try:
                found: dict[str, str] = json.loads(zookeeper.get(path)[0])["config"]
            except NoNodeError:
                return {}
            return found

        try:
            data, stat = zookeeper.get(f"/brokers/topics/{TOPIC}")
            state = json.loads(zookeeper.get(f"/brokers/topics/{TOPIC}/partitions/0/state")[0])
        except NoNodeError:
            return 0, (), (), ""
        settings = [
            f"{name} {key}={value}"
            for name, path in (
                (f"topic {TOPIC}", f"topics/{TOPIC}"),
                ("all brokers", "brokers/<default>"),
                *[(f"broker {number}", f"brokers/{number}") for number in cluster.broker_ids],
            )
            for key, value in sorted(config(f"/config/{path}").items())
        ]
        replicas = json.loads(data)["partitions"]["0"]
        return stat.czxid, tuple(replicas), tuple(sorted(state["isr"])), ", ".join(settings)
    finally:
        zookeeper.stop()
        zookeeper.close()


def answering(cluster: Cluster) -> list[str]:
    """Return the addresses of the brokers that run: a paused one would keep a client waiting."""
    return [f"127.0.0.1:{cluster.port(number)}" for number in cluster.status().running_brokers]


def send_one(
    cluster: Cluster, timeout_ms: int, acks: Literal["all", 1] = "all"
) -> tuple[int | None, str]:
    """Send one record. Returns after how many ms it was acknowledged, or None and why it was
    not.
    """
    servers = answering(cluster)
    if not servers:
        return None, "no broker runs"
    try:
        with closing(
            KafkaProducer(
                bootstrap_servers=servers,
                acks=acks,
                retries=0,
                linger_ms=0,
                enable_idempotence=False,
                request_timeout_ms=timeout_ms,
                delivery_timeout_ms=timeout_ms + 1_000,
                max_block_ms=max(timeout_ms, CLIENT_PATIENCE_MS),
            )
        ) as producer:
            producer.partitions_for(TOPIC)
            began = time.monotonic()
            producer.send(TOPIC, b"is anybody there?").get(timeout_ms / 1_000 + 2)
            return round((time.monotonic() - began) * 1_000), ""
    except KafkaError as error:
        return None, f"{type(error).__name__} after {timeout_ms:,} ms"


def read_all(cluster: Cluster) -> tuple[str, ...]:
    """Return all values that a consumer sees, from the first."""
    servers = answering(cluster)
    values: list[str] = []
    if not servers:
        return ()
    partition = TopicPartition(TOPIC, 0)
    try:
        with closing(
            KafkaConsumer(
                bootstrap_servers=servers,
                auto_offset_reset="earliest",
                request_timeout_ms=CLIENT_PATIENCE_MS,
                session_timeout_ms=CLIENT_PATIENCE_MS - 1_000,
                group_id=None,
            )
        ) as consumer:
            consumer.assign([partition])
            high = consumer.end_offsets([partition])[partition]
            deadline = time.monotonic() + READ_LIMIT_S
            while consumer.position(partition) < high and time.monotonic() < deadline:
                for records in consumer.poll(timeout_ms=500).values():
                    values += [record.value.decode("utf-8", "replace") for record in records]
    except KafkaError:
        return tuple(values)
    return tuple(values)


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Do what a script says to the cluster: acts of `cluster act` with their values, and
    "delete-topic" and "create-topic". Raises ClusterError.
    """
    with closing(attach(CLUSTER, home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "restart", [int(broker)]:
                    cluster.stop(broker)
                    cluster.start(broker)
                case "heal-link" | "cut-link", [int(one), int(other)]:
                    cluster.perform(str(name), {"broker": one, "other": other})
                case "reassign", [str(partition), str(replicas)]:
                    cluster.perform("reassign", {"partition": partition, "replicas": replicas})
                case "topic-config", [str(topic), str(setting)]:
                    cluster.perform("topic-config", {"topic": topic, "setting": setting})
                case "topic-again", [int(leader)]:
                    topic_again(cluster, leader)
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")


def topic_again(cluster: Cluster, leader: int) -> None:
    """Delete the topic, and create it again when it is gone."""
    one, other = [number for number in cluster.broker_ids if number != leader]
    before = look_into_zookeeper(cluster)[0]
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        admin.delete_topics([TOPIC])
    end_s = time.monotonic() + READ_LIMIT_S
    while look_into_zookeeper(cluster)[0] == before and time.monotonic() < end_s:
        time.sleep(0.1)
    create_topic(cluster, Plan(leader, one, other, "", 0))
