"""Moves between log dirs: Apache Kafka 2.8.2 and our broker give the same answers to the same
requests, and Kafka's own tools move replicas on our broker.
"""

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types

from benchmarks.apache_kafka import apache_kafka
from kafka_edu.clients import blocking
from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.admin_call import AdminCall, Broker, expect
from kafka_edu.clients.admin.config_calls import AlterConfigOp, ConfigResource
from kafka_edu.common.errors import Errors
from kafka_edu.common.python_process import python_command
from kafka_edu.common.topic_partition import TopicPartition as Partition
from kafka_edu.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from kafka_edu.protocol.messages.describe_configs import ResourceType
from kafka_edu.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafka_edu.protocol.messages.incremental_alter_configs import OpType
from kafka_edu.protocol.schema import Message
from kafka_edu.supervisor.cluster import running_cluster
from tests.interop.external_programs import apache_kafka_jars
from tests.interop.tools import Cluster, Printed
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.interop

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
#: A piece is small, so that the throttle soon holds a copy back.
PROPERTIES = {
    "replica.fetch.max.bytes": "20000",
    "replica.fetch.backoff.ms": "100",
    "alter.log.dirs.replication.quota.window.num": "2",
    "zookeeper.session.timeout.ms": "4000",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}
RECORDS = 3000
M = TypeVar("M", bound=Message)


class Peer(NamedTuple):
    """A cluster of two brokers. Requests go to broker 0, which has the log dirs a, b and c."""

    servers: str
    dirs: Sequence[Path]
    kill: Callable[[], None]
    start: Callable[[], None]

    def ask(self, request: Message, kind: type[M]) -> M:
        """Send a request to broker 0, and return the response."""
        assert request.KEY is not None
        call = AdminCall(
            kind.__name__,
            (request.KEY,),
            {0: Broker(0)},
            lambda *_: request,
            lambda _, answer: {0: expect(kind, answer)},
        )

        async def asked() -> M:
            async with Admin({"bootstrap.servers": self.servers, "client.id": "moves"}) as admin:
                return (await admin.ask(call))[0]

        return asyncio.run(asked())

    def order(self, *wishes: tuple[str, int, str]) -> list[str]:
        """Request that replicas move into log dirs. Each wish names a topic, a partition and a dir:
        a, b, c or a path. Return the errors.
        """
        dirs = [
            AlterReplicaLogDir(
                path=self._path(name),
                topics=[AlterReplicaLogDirTopic(name=topic, partitions=[partition])],
            )
            for topic, partition, name in wishes
        ]
        answer = self.ask(AlterReplicaLogDirsRequest(dirs=dirs), AlterReplicaLogDirsResponse)
        return [
            Errors.of(partition.error_code).name
            for topic in answer.results
            for partition in topic.partitions
        ]

    def _path(self, name: str) -> str:
        return str(self.dirs["abc".index(name)]) if name in ("a", "b", "c") else name

    def where(self, topic: str) -> list[str]:
        """Return the dirs that have the topic's partition 0, as text such as `a: no lag` and `b, a
        copy: it lags`.
        """
        found = []
        answer = self.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
        for log_dir in answer.results:
            name = "abc"[self.dirs.index(Path(log_dir.log_dir))]
            if log_dir.error_code:
                found.append(f"{name}: {Errors.of(log_dir.error_code).name}")
            for described in log_dir.topics:
                for one in described.partitions if described.name == topic else ():
                    lag = one.offset_lag
                    words = "no lag" if lag == 0 else "it lags" if lag > 0 else str(lag)
                    if not one.partition_size and one.is_future_key:
                        words = "it is empty"  # Apache Kafka cannot resume such a one
                    found.append(f"{name}{', a copy' if one.is_future_key else ''}: {words}")
        return sorted(found)

    def folders(self, topic: str) -> list[str]:
        """Return the topic's folders, with what they are."""
        return sorted(
            f"{name}/{path.name.partition('.')[0]}{path.name[-7:] if '.' in path.name else ''}"
            for name, log_dir in zip("abc", self.dirs, strict=True)
            if log_dir.is_dir()
            for path in log_dir.glob(f"{topic}-*")
            if not path.name.endswith("-delete")
        )

    def throttle(self, rate: int | None) -> None:
        """Set the throttle, or delete it if `rate` is None. Wait until the broker has the new
        value.
        """
        op = OpType.DELETE if rate is None else OpType.SET
        wanted = None if rate is None else str(rate)
        broker = ConfigResource(ResourceType.BROKER, "0")
        with blocking.Admin({"bootstrap.servers": self.servers}) as admin:
            admin.incremental_alter_configs({broker: [AlterConfigOp(RATE, op, wanted)]}).all()

            def works() -> bool:
                entry = admin.describe_configs([broker]).all()[broker].get(RATE)
                return (entry and entry.value) == wanted

            wait_for(works, f"the throttle is {wanted}")

    def create(self, topic: str, broker: int = 0) -> None:
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        new = NewTopic(topic, num_partitions=1, replica_assignment=[[broker]])
        for made in admin.create_topics([new]).values():
            made.result(PATIENCE_S)
        wait_for(lambda: broker or self.where(topic), f"{topic} is there")

    def bring(self, topic: str) -> None:
        """Move the topic's partition from another broker to broker 0."""
        with blocking.Admin({"bootstrap.servers": self.servers}) as admin:
            admin.alter_partition_reassignments({Partition(topic, 0): [0]}).all()

    def delete(self, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        for gone in admin.delete_topics([topic]).values():
            gone.result(PATIENCE_S)

    def produce(self, topic: str, count: int = RECORDS) -> None:
        sender = Producer(
            {
                "bootstrap.servers": self.servers,
                "acks": "all",
                "batch.num.messages": 20,
                "enable.idempotence": True,
                "log_level": 0,
            }
        )
        for number in range(count):
            sender.produce(topic, b"%d %s" % (number, b"." * 100), partition=0)
        assert sender.flush(PATIENCE_S) == 0

    def read(self, topic: str) -> list[int]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "reader",
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = []
        while True:
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            if message.error():
                break
            value = message.value()
            assert value is not None
            found.append(int(value.split()[0]))
        consumer.close()
        return found

    def begin(self, topic: str, name: str) -> list[str]:
        """Request a move that the throttle slows down, and wait until a part of the log is
        copied.
        """
        self.throttle(1)
        errors = self.order((topic, 0, name))
        return [*errors, *wait_for(lambda: self._lagging(topic), "a copy that lags")]

    def _lagging(self, topic: str) -> list[str]:
        found = self.where(topic)
        return found if any("a copy: it lags" in line for line in found) else []

    def until_moved(self, topic: str, name: str) -> list[str]:
        self.throttle(None)
        wait_for(
            lambda: self.folders(topic) == [f"{name}/{topic}-0"],
            lambda: f"{topic} moves to {name}: {self.folders(topic)}",
        )
        return self.where(topic)


def story(peer: Peer) -> Iterator[tuple[str, object]]:
    """Yield each step, and what the broker does."""
    yield "an unknown topic", peer.order(("early", 0, "c"))
    peer.create("early")
    yield "and then it comes", peer.where("early")
    yield "a name that is too long", peer.order(("x" * 230, 0, "b"))
    peer.create("far", broker=1)
    yield "a replica of another broker", peer.order(("far", 0, "b"))
    peer.bring("far")
    yield "and then it comes here", wait_for(lambda: peer.where("far"), "far comes")
    peer.order(("t", 0, "a"))
    peer.create("t")
    peer.produce("t")
    yield "where it is", peer.where("t")
    yield "no such dir", peer.order(("t", 0, "/no/such/dir"))
    yield "a relative dir", peer.order(("t", 0, "relative"))
    yield "no such partition", peer.order(("t", 7, "b"))
    yield "it is there already", peer.order(("t", 0, "a"))
    yield "it moves", peer.begin("t", "b")
    yield "its folders", peer.folders("t")
    yield "the same again", [*peer.order(("t", 0, "b")), *peer.where("t")]
    yield "another dir", peer.begin("t", "c")
    yield "its folders now", peer.folders("t")
    yield "back", [*peer.order(("t", 0, "a")), *peer.where("t"), *peer.folders("t")]
    yield "two dirs at once", [*peer.order(("t", 0, "b"), ("t", 0, "c")), *peer.folders("t")]
    yield "it gets there", peer.until_moved("t", "c")
    yield "its records", peer.read("t") == list(range(RECORDS))
    yield "it moves on", peer.begin("t", "b")
    peer.kill()
    yield "after a kill", peer.folders("t")
    peer.start()
    peer.throttle(1)
    yield "it goes on", peer.until_moved("t", "b")
    yield "its records then", peer.read("t") == list(range(RECORDS))
    peer.order(("u", 0, "a"))
    peer.create("u")
    peer.produce("u")
    yield "u moves", peer.begin("u", "b")
    peer.delete("u")
    yield "and is deleted", wait_for(lambda: not peer.folders("u"), "u is gone")
    peer.throttle(None)
    shutil.rmtree(peer.dirs[2])
    peer.dirs[2].write_text("no folder any more")
    yield "a dir that fails", peer.order(("t", 0, "c"))
    yield "another one then", peer.order(("t", 0, "a"))
    yield "its own", peer.order(("t", 0, "b"))
    yield "where all is", [line for line in peer.where("t") if not line.startswith("a")]


def registration_is_gone(zookeeper: str) -> None:
    """Wait until the session of the killed broker has ended."""
    client = KazooClient(zookeeper)
    client.start(PATIENCE_S)
    try:
        wait_for(lambda: client.exists("/brokers/ids/0") is None, "the registration is gone")
    finally:
        client.stop()
        client.close()


def dirs_in(folder: Path) -> list[Path]:
    return [folder / name for name in "abc"]


def joined(dirs: Sequence[Path]) -> str:
    return ",".join(map(str, dirs))


@pytest.mark.rotated
def test_both_do_the_same(tmp_path: Path) -> None:
    jars = apache_kafka_jars()
    lines = [f"{key}={value}" for key, value in PROPERTIES.items()]
    lines.append("log.dirs=" + joined(dirs_in(tmp_path / "{port}")))
    with apache_kafka(jars, 2, lines) as peer:

        def start() -> None:
            registration_is_gone(peer.zookeeper)  # else a broker of Apache Kafka does not start
            peer.start(0)
            peer.await_listening(0)
            peer.wait_until_listed()

        dirs = dirs_in(tmp_path / str(peer.ports[0]))
        expected = list(story(Peer(peer.bootstrap, dirs, lambda: peer.kill(0), start)))
    mine = [dirs_in(tmp_path / str(broker)) for broker in (0, 1)]
    with running_cluster(
        "moves",
        brokers=2,
        props=PROPERTIES,
        broker_props={broker: {"log.dirs": joined(mine[broker])} for broker in (0, 1)},
    ) as cluster:
        found = list(
            story(
                Peer(
                    cluster.bootstrap_servers,
                    mine[0],
                    lambda: cluster.kill(0),
                    lambda: cluster.start(0),
                )
            )
        )
    assert found == expected
    seen = dict(expected)
    assert seen["its records"] is seen["its records then"] is True
    assert seen["it moves"] == ["NONE", "a: no lag", "b, a copy: it lags"]
    assert seen["a replica of another broker"] == ["REPLICA_NOT_AVAILABLE"]
    assert seen["it goes on"] == ["b: no lag"]


@pytest.mark.rotated
def test_each_goes_on_with_the_others_move(tmp_path: Path) -> None:
    """Apache Kafka's broker and ours are killed in the middle of a move. Then the two brokers
    exchange the folders of the topic, and each completes the move that the other has begun.
    """
    jars = apache_kafka_jars()
    theirs, mine = dirs_in(tmp_path / "theirs"), dirs_in(tmp_path / "mine")
    lines = [f"{key}={value}" for key, value in PROPERTIES.items()]
    props = {**PROPERTIES, "log.dirs": joined(mine)}
    with (
        apache_kafka(jars, 1, [*lines, "log.dirs=" + joined(theirs)]) as apache,
        running_cluster("moves", brokers=1, props=props) as cluster,
    ):

        def start() -> None:
            registration_is_gone(apache.zookeeper)
            apache.start(0)
            apache.await_listening(0)
            apache.wait_until_listed()

        servers = cluster.bootstrap_servers
        both = (
            Peer(apache.bootstrap, theirs, lambda: apache.kill(0), start),
            Peer(servers, mine, lambda: cluster.kill(0), lambda: cluster.start(0)),
        )
        for peer in both:
            peer.order(("t", 0, "a"))
            peer.create("t")
            peer.produce("t")
            assert "b, a copy: it lags" in peer.begin("t", "b")
        for peer in both:
            peer.kill()
        move_folders(theirs, dirs_in(tmp_path / "aside"))
        move_folders(mine, theirs)
        move_folders(dirs_in(tmp_path / "aside"), mine)
        for metadata in tmp_path.glob("*/*/t-0*/partition.metadata"):
            metadata.unlink()  # the topic has another id there
        for peer in both:
            assert peer.folders("t") == ["a/t-0", "b/t-0-future"]
            peer.start()
            assert peer.until_moved("t", "b") == ["b: no lag"]
            assert peer.read("t") == list(range(RECORDS))


def move_folders(old: Sequence[Path], new: Sequence[Path]) -> None:
    for source, target in zip(old, new, strict=True):
        target.mkdir(parents=True, exist_ok=True)
        for folder in list(source.glob("t-0*")):
            shutil.move(folder, target / folder.name)


JAVA_TOOL_TOPIC = "by-tools"


@pytest.mark.parametrize("tool", ["java", "ours"])
def test_tools_move_replicas_of_ours(tmp_path: Path, tool: str) -> None:
    """kafka-reassign-partitions.sh and kafka-log-dirs.sh of Apache Kafka 2.8.2, and our own, move
    both replicas of a partition while a producer writes.
    """
    dirs = [dirs_in(tmp_path / str(broker)) for broker in (0, 1)]
    with running_cluster(
        "tools",
        brokers=2,
        props=PROPERTIES,
        broker_props={broker: {"log.dirs": joined(dirs[broker])} for broker in (0, 1)},
    ) as cluster:
        tools = Cluster("", cluster.bootstrap_servers, tmp_path, apache_kafka_jars())

        def call(name: str, words: str) -> Printed:
            command = tools.java(name) if tool == "java" else python_command("kafka_edu", name)
            address = ["--bootstrap-server", cluster.bootstrap_servers]
            return tools.run(command, [*address, *words.split()], "")

        peer = Peer(cluster.bootstrap_servers, dirs[0], lambda: None, lambda: None)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        new = NewTopic(JAVA_TOOL_TOPIC, num_partitions=1, replica_assignment=[[0, 1]])
        for made in admin.create_topics([new]).values():
            made.result(PATIENCE_S)
        peer.produce(JAVA_TOOL_TOPIC)
        now = [cluster.replica(broker, JAVA_TOOL_TOPIC, 0).parent for broker in (0, 1)]
        targets = [next(one for one in dirs[i] if one != now[i]) for i in (0, 1)]
        entry = {
            "topic": JAVA_TOOL_TOPIC,
            "partition": 0,
            "replicas": [0, 1],
            "log_dirs": [str(target) for target in targets],
        }
        file = tmp_path / "move.json"
        file.write_text(json.dumps({"version": 1, "partitions": [entry]}))
        move = f"--reassignment-json-file {file}"
        throttle = "--replica-alter-log-dirs-throttle 1"
        started = call("reassign-partitions", f"--execute {move} {throttle}")
        assert "The replica-alter-dir throttle limit was set to 1 B/s" in started.out, started
        replicas = [f"{JAVA_TOOL_TOPIC}-0-{broker}" for broker in (0, 1)]
        moves = f"Successfully started log directory moves for: {','.join(replicas)}"
        assert moves in started.out, started
        assert "no effect" not in started.err
        verified = call("reassign-partitions", f"--verify {move}")
        for replica in replicas:
            assert f"Reassignment of replica {replica} is still in progress." in verified.out
        described = call("log-dirs", f"--describe --topic-list {JAVA_TOOL_TOPIC}")
        (line,) = [line for line in described.out.splitlines() if line.startswith("{")]
        copies = {
            (broker["broker"], log_dir["logDir"]): partition["offsetLag"]
            for broker in json.loads(line)["brokers"]
            for log_dir in broker["logDirs"]
            for partition in log_dir["partitions"]
            if partition["isFuture"]
        }
        assert copies.keys() == {(broker, str(targets[broker])) for broker in (0, 1)}
        assert all(0 < lag <= RECORDS for lag in copies.values())
        faster = "--replica-alter-log-dirs-throttle 100000000"
        again = call("reassign-partitions", f"--execute --additional {move} {faster}")
        assert "The replica-alter-dir throttle limit was set to 100000000 B/s" in again.out, again
        wait_for(
            lambda: (
                [cluster.replica(broker, JAVA_TOOL_TOPIC, 0).parent for broker in (0, 1)] == targets
            ),
            "both have moved",
        )
        verified = call("reassign-partitions", f"--verify {move}")
        for replica in replicas:
            words = f"Reassignment of replica {replica} completed successfully."
            assert words in verified.out, verified
        assert "Clearing broker-level throttles on brokers 0,1" in verified.out
        assert peer.read(JAVA_TOOL_TOPIC) == list(range(RECORDS))
