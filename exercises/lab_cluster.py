"""The cluster of an exercise of the kind *operate*: start it, fill it, check it, and end it.

kafka-python writes and reads the records, because an independent client judges the cluster. Our
admin client makes the topics.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from kafka_edu.clients.blocking import Admin
from kafka_edu.common.errors import KafkaException
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

from .runner.topics import make_topic

CLIENT_PATIENCE_MS: Final = 30_000
"""The longest wait of a client, in ms, for work that the trouble does not prevent.

It is long because the machine may be busy.
"""
READ_LIMIT_S: Final = 60.0
OTHERS_LIMIT_S: Final = 300.0
"""The longest wait, in seconds, for a change that brokers and clients make by themselves."""
OFFICE_TRIES: Final = 60
CAPTURE: Final = "edu.capture.clients"
"""The broker setting that `kafka-edu wire capture` sets. It is not compared."""
TOPIC_PARENTS: Final = ("/brokers/topics", "/config/topics", "/admin/delete_topics")
"""The znodes below which a topic has a znode until it is deleted."""
BEFORE: Final = "before.json"
"""The file in the learner's folder with the state of the cluster before the trouble."""
MOVE_ORDER: Final = "/admin/reassign_partitions"
"""The znode that orders moves of partitions. It is deleted when all these moves are finished."""


class TopicFacts(NamedTuple):
    """The facts in ZooKeeper about a topic with one partition, and all settings stored there."""

    created: int
    """The czxid of the topic's znode: the transaction that created it. 0 if there is none."""
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    """The replicas that a move is still adding."""
    removing: tuple[int, ...] = ()
    """The replicas that a move is still going to remove."""
    settings: str = ""
    """The settings in ZooKeeper of the topic and of all brokers, as one text."""


class LabCluster:
    """The cluster of one exercise, with its topic, which has one partition."""

    def __init__(self, exercise: str, topic: str) -> None:
        self.exercise = exercise
        self.name = f"lab-{exercise}"
        self.topic = topic

    def start(self, wish: Wish, home: Path | None) -> Cluster:
        """Start the cluster. Raises ClusterError if it is up already or does not start."""
        folder = ClusterFolder.of(self.name, home)
        if is_up(folder):
            raise ClusterError(
                f"cluster '{self.name}' is up already and in the way:"
                f" `{command_line(f'lab reset {self.exercise}')}` ends it"
            )
        if folder.path.exists():
            shutil.rmtree(folder.path)  # the user has stopped it: the trouble is made again
        return start_cluster(self.name, wish, home)

    @contextmanager
    def begun(self, wish: Wish, home: Path | None) -> Iterator[Cluster]:
        """Start the cluster, and let the `with` block prepare it. The cluster stays up.

        It does not end with this process. If the block fails, the cluster is removed. Raises
        ClusterError if the cluster is up already or does not start.
        """
        cluster = self.start(wish, home)
        try:
            yield cluster
            cluster.release()
            cluster.close()
        except BaseException:
            cluster.down(delete=True)
            raise

    def is_running(self, home: Path | None = None) -> bool:
        """Return whether the cluster is up."""
        return is_up(ClusterFolder.of(self.name, home))

    def attach(self, home: Path | None) -> Cluster:
        """Return the running cluster. Raises ClusterError if it is not up."""
        if not self.is_running(home):
            raise ClusterError(
                f"cluster '{self.name}' is not up:"
                f" `{command_line(f'lab start {self.exercise}')}` starts it, with the trouble of"
                " your ticket"
            )
        return attach(self.name, home)

    def end(self, home: Path | None = None) -> bool:
        """Stop the cluster and remove it. Return whether it was up. Raises ClusterError."""
        folder = ClusterFolder.of(self.name, home)
        was_up = is_up(folder)
        if was_up:
            take_down(folder)
            # The supervisor removes the lock first, and then the rest of the folder.
            end_s = time.monotonic() + READ_LIMIT_S
            while folder.path.exists() and time.monotonic() < end_s:
                time.sleep(0.02)
        shutil.rmtree(folder.path, ignore_errors=True)
        return was_up

    def create_topic(
        self, cluster: Cluster, replicas: Sequence[int], settings: Mapping[str, str]
    ) -> None:
        """Create the topic with replicas on the brokers `replicas`. The first of them leads.

        Raises ClusterError.
        """
        make_topic(cluster, self.topic, replicas, configs=settings)

    def create_again(
        self, cluster: Cluster, replicas: Sequence[int], settings: Mapping[str, str]
    ) -> None:
        """Delete the topic, wait until all its znodes are gone, and create it again. Raises
        ClusterError.

        The znode that orders the deletion is the last one that the controller removes.
        """
        try:
            with Admin({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
                admin.delete_topics([self.topic]).all()
        except KafkaException as error:
            raise ClusterError(f"topic '{self.topic}' cannot be deleted: {error}") from error
        with zookeeper_of(cluster) as zookeeper:
            paths = [f"{parent}/{self.topic}" for parent in TOPIC_PARENTS]
            wait_until(lambda: not any(map(zookeeper.exists, paths)), "the end of a topic")
        self.create_topic(cluster, replicas, settings)

    def wait_for_move(self, cluster: Cluster) -> None:
        """Wait until no move of the topic runs any more. Raises ClusterError if a move does not
        end.
        """
        end_s = time.monotonic() + READ_LIMIT_S
        while (now := self.in_zookeeper(cluster)).adding or now.removing:
            if time.monotonic() > end_s:
                raise ClusterError(f"the move of {self.topic} does not end")
            time.sleep(0.1)

    def write_orders(self, cluster: Cluster, count: int, first: int = 0) -> None:
        """Write `count` records, numbered from `first` on. Each is acknowledged with acks=all."""
        with closing(
            KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all", linger_ms=0)
        ) as producer:
            sent = [
                producer.send(self.topic, f"order {number}".encode())
                for number in range(first, first + count)
            ]
            for one in sent:
                one.get(READ_LIMIT_S)

    def send_one(
        self, cluster: Cluster, timeout_ms: int, acks: Literal["all", 1] = "all"
    ) -> tuple[int | None, str]:
        """Send one record. Return the time until its acknowledgement in ms, and an empty text.

        If it is not acknowledged, return None and the reason.
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
                producer.partitions_for(self.topic)
                began = time.monotonic()
                producer.send(self.topic, b"is anybody there?").get(timeout_ms / 1_000 + 2)
                return round((time.monotonic() - began) * 1_000), ""
        except KafkaError as error:
            return None, f"{type(error).__name__} after {timeout_ms:,} ms"

    def read_all(self, cluster: Cluster) -> tuple[str, ...]:
        """Return the values of all records of the topic that a consumer can read, in order."""
        servers = answering(cluster)
        values: list[str] = []
        if not servers:
            return ()
        partition = TopicPartition(self.topic, 0)
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

    def in_zookeeper(self, cluster: Cluster) -> TopicFacts:
        """Return the facts in ZooKeeper about the topic."""
        from kazoo.exceptions import NoNodeError  # type: ignore[import-untyped]  # no types

        with zookeeper_of(cluster) as zookeeper:

            def config(path: str) -> dict[str, str]:
                try:
                    found: dict[str, str] = json.loads(zookeeper.get(path)[0])["config"]
                except NoNodeError:
                    return {}
                return found

            try:
                data, stat = zookeeper.get(f"/brokers/topics/{self.topic}")
                state = json.loads(
                    zookeeper.get(f"/brokers/topics/{self.topic}/partitions/0/state")[0]
                )
            except NoNodeError:
                return TopicFacts(0)
            settings = [
                f"{name} {key}={value}"
                for name, path in (
                    (f"topic {self.topic}", f"topics/{self.topic}"),
                    ("all brokers", "brokers/<default>"),
                    *[(f"broker {number}", f"brokers/{number}") for number in cluster.broker_ids],
                )
                for key, value in sorted(config(f"/config/{path}").items())
                if key != CAPTURE  # reading the wire changes nothing
            ]
            topic = json.loads(data)
            return TopicFacts(
                stat.czxid,
                tuple(topic["partitions"]["0"]),
                tuple(sorted(state["isr"])),
                tuple(topic.get("adding_replicas", {}).get("0", ())),
                tuple(topic.get("removing_replicas", {}).get("0", ())),
                ", ".join(settings),
            )


def keep_before(folder: Path, seed: int, facts: Any) -> None:
    """Write the state before the trouble to the learner's folder. `facts` is a NamedTuple."""
    text = json.dumps({"seed": seed, "facts": facts._asdict()}, indent=1)
    (folder / BEFORE).write_text(text + "\n", encoding="utf-8")


def read_before(folder: Path) -> tuple[int, dict[str, Any]]:
    """Return the seed and the state that `keep_before` has written."""
    document = json.loads((folder / BEFORE).read_text(encoding="utf-8"))
    return int(document["seed"]), document["facts"]


def topic_facts(kept: Sequence[Any]) -> TopicFacts:
    """Return the facts about a topic from their JSON form."""
    return TopicFacts(*_tuples(kept))


def _tuples(values: Sequence[Any]) -> Iterator[Any]:
    """Yield the values, and turn each list into a tuple, because JSON has no tuples."""
    for value in values:
        yield tuple(value) if isinstance(value, list) else value


@contextmanager
def zookeeper_of(cluster: Cluster) -> Iterator[Any]:
    """Yield a connected kazoo client of the cluster's ZooKeeper, and close it in the end."""
    from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types

    zookeeper = KazooClient(cluster.zookeeper_connect, timeout=6.0)
    zookeeper.start(timeout=READ_LIMIT_S)
    try:
        yield zookeeper
    finally:
        zookeeper.stop()
        zookeeper.close()


def order_move(cluster: Cluster, topic: str, target: Sequence[int]) -> None:
    """Write the znode that moves partition 0 of a topic to `target`, as Kafka's old tools do."""
    entry = {"topic": topic, "partition": 0, "replicas": list(target)}
    document = json.dumps({"version": 1, "partitions": [entry]}).encode()
    with zookeeper_of(cluster) as zookeeper:
        zookeeper.create(MOVE_ORDER, document)


def answering(cluster: Cluster) -> list[str]:
    """Return the addresses of the running brokers. A client would wait for a paused broker."""
    return [f"127.0.0.1:{cluster.port(number)}" for number in cluster.status().running_brokers]


def restart(cluster: Cluster, broker: int) -> None:
    """Stop a broker and start it again. Raises ClusterError."""
    cluster.stop(broker)
    cluster.start(broker)


def properties_of(cluster: Cluster, broker: int) -> dict[str, str]:
    """Return the settings in a broker's file server.properties."""
    lines = cluster.folder.broker_properties(broker).read_text(encoding="utf-8").splitlines()
    pairs = [line.partition("=") for line in lines if line.strip() and not line.startswith("#")]
    return {key.strip(): value.strip() for key, _, value in pairs}


def set_property(cluster: Cluster, broker: int, key: str, value: str) -> None:
    """Write a setting to a broker's server.properties, as an operator does with an editor."""
    path = cluster.folder.broker_properties(broker)
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.partition("=")[0].strip() != key]
    path.write_text("\n".join([*kept, f"{key}={value}"]) + "\n", encoding="utf-8")


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until `is_so` returns True, because another program has made a change. Raises
    ClusterError if that takes too long.
    """
    end_s = time.monotonic() + OTHERS_LIMIT_S
    while not is_so():
        if time.monotonic() > end_s:
            raise ClusterError(f"{what} did not come within {OTHERS_LIMIT_S:.0f} s")
        time.sleep(0.1)


def elect_controller(cluster: Cluster, wanted: int) -> None:
    """Trigger controller elections until the broker `wanted` wins one. Raises ClusterError."""
    cluster.wait_ready()
    for _ in range(OFFICE_TRIES):
        wait_until(lambda: controller_of(cluster) >= 0, "a controller")
        if controller_of(cluster) == wanted:
            return
        cluster.perform("delete-controller", {})
    raise ClusterError(f"broker {wanted} did not become the controller in {OFFICE_TRIES} tries")


def controller_of(cluster: Cluster) -> int:
    """Return the controller's broker id from ZooKeeper, or -1 if there is no controller now."""
    from kazoo.exceptions import NoNodeError

    with zookeeper_of(cluster) as zookeeper:
        try:
            return int(json.loads(zookeeper.get("/controller")[0])["brokerid"])
        except NoNodeError:
            return -1


def slow_link(
    cluster: Cluster, one: int, other: int, delay_ms: int, *, hidden: bool = False
) -> None:
    """Delay all data between two brokers, in both directions, by `delay_ms`.

    A hidden fault is not shown to the learner.
    """
    fields = {"broker": one, "other": other, "delay_ms": delay_ms}
    cluster.perform("slow-link", fields, hidden=hidden)


def faults_of_links(cluster: Cluster) -> tuple[str, ...]:
    """Return the links between brokers that have a fault, the hidden faults too.

    An entry reads `0-1 slow by 40 ms`.
    """
    return tuple(
        f"{min(one.broker, one.other)}-{max(one.broker, one.other)} {one.state}"
        for one in cluster.status(hidden=True).links
    )
