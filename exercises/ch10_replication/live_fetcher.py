"""The live part of 10-6: the learner's Fetcher decides what broker 2 does as a follower.

Broker 2 dies with records that no other broker has, and comes back. Meanwhile the oldest records of
a second topic are deleted. Then another leader is killed and comes back. At last a leader does not
hear that it was elected. In the end the logs of all brokers have to be equal.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from kafka_edu.clients.blocking import Admin
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import ClusterError
from kafka_edu.trace.events.replication import (
    BecameFollower,
    FetcherPartitionDelayed,
    LogTruncatedByRange,
)

from ..ch07_leader_election import live_truncation as truncation
from ..lab_cluster import zookeeper_of
from ..learner_broker import ALL, BROKER, LearnerBroker, learner_broker
from ..learner_controller import send_each
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step

TOPIC: Final = "lab-106"
OLD: Final = f"{TOPIC}-old"
"""A topic whose first records are deleted while broker 2 is dead."""
MOVED: Final = f"{TOPIC}-moved"
"""A topic whose leader is killed. Later that broker does not hear that it leads again."""
STEADY: Final = f"{TOPIC}-steady"
"""A topic with the same leader, whose partition has no errors."""
RECORDS: Final = 10
MORE: Final = 30
DELETED: Final = 25
DELAYS: Final = 3
"""The number of errors for which the live part waits."""
BACKOFF_MS: Final = 1_000
TOLERANCE_MS: Final = 100
OFFICE_TRIES: Final = 20
ELECTION: Final = "/admin/preferred_replica_election"
PROPS: Final[Mapping[str, str]] = {
    **truncation.PROPS,
    "auto.leader.rebalance.enable": "false",
    "replica.fetch.backoff.ms": str(BACKOFF_MS),
}
_BATCH: Final = Struct(">qi")
"""The beginning of a batch: its base offset, and the length of the rest."""


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None) in broker 2, and yield the result
    of each check.
    """
    with learner_broker(exercise, file, TOPIC, say, patience_s, props=PROPS) as broker:
        scene = _Scene(broker, say)
        make_topic(broker.cluster, OLD, ALL)
        yield scene.send(OLD, "records of another topic are acked by all three", RECORDS)
        yield from truncation.moment(broker, say, scene.delete_the_oldest)
        yield scene.starts_over()
        yield from scene.leader_dies()
        yield from scene.leader_does_not_know(file is not None)
        yield scene.equal()
        yield scene.kept()
        if file is not None:
            yield broker.judge_calls("all logs are the same")


class _State(NamedTuple):
    """The state of a partition in ZooKeeper."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]


class _Scene:
    """The topics of the live part, and the records that were acknowledged."""

    def __init__(self, broker: LearnerBroker, say: Callable[[str], None]) -> None:
        self._broker = broker
        self._cluster = broker.cluster
        self._say = say
        self._acked: dict[str, list[bytes]] = {OLD: [], MOVED: [], STEADY: []}
        self._acked[TOPIC] = [
            *(b"committed %d" % number for number in range(truncation.COMMITTED)),
            *(b"later %d" % number for number in range(truncation.LATER)),
        ]
        self._leader = -1
        self._chief = -1

    def send(self, topic: str, says: str, count: int) -> Step:
        """Send records with acks=all, one after another. The step passes if all are acked."""
        known = self._acked[topic]
        values = [b"%s record %04d." % (topic.encode(), len(known) + at) for at in range(count)]
        acked = send_each(self._broker, topic, values)
        known += values[:acked]
        return Step(says, acked == count, f"{acked} of {count}", late=acked < count)

    def delete_the_oldest(self) -> Iterator[Step]:
        """Write more records into the topic OLD, and delete its first ones."""
        yield self.send(OLD, "the other topic continues without broker 2", MORE)
        with Admin({"bootstrap.servers": self._cluster.bootstrap_servers}) as admin:
            admin.delete_records({TopicPartition(OLD, 0): DELETED}).all()
        self._acked[OLD] = self._acked[OLD][DELETED:]

    def starts_over(self) -> Step:
        """Check that broker 2 dropped its log of the topic OLD, and began where the leader does."""
        says = "its end of the other log is gone: it starts over where the leader begins"

        def restarts() -> list[LogTruncatedByRange]:
            events = self._broker.listener.events()
            return [e for e in events if isinstance(e, LogTruncatedByRange) and e.topic == OLD]

        if not self._broker.listener.wait_for(lambda: bool(restarts()), self._broker.patience_s):
            return Step(says, False, "it has not started over", late=True)
        [first, *_] = restarts()
        return Step(
            says, first.after == DELETED, f"from {first.before} to {first.after}, of {DELETED}"
        )

    def leader_dies(self) -> Iterator[Step]:
        """Kill the leader of two topics, and let it come back."""
        self._chief = self._controller()
        self._leader = next(one for one in ALL if one not in (BROKER, self._chief))
        make_topic(self._cluster, MOVED, [self._leader, self._chief, BROKER])
        make_topic(self._cluster, STEADY, [self._leader, BROKER])
        for topic in (MOVED, STEADY):
            yield self.send(
                topic, f"broker {self._leader} leads {topic}, broker 2 follows", RECORDS
            )
        self._say(f"kill -9 of broker {self._leader}")
        self._cluster.kill(self._leader)
        for topic in (MOVED, STEADY):
            yield self.send(topic, f"{topic} continues with another leader", RECORDS)
        self._say(f"broker {self._leader} comes back")
        self._cluster.start(self._leader)
        yield self._in_sync()
        yield self._elect(STEADY)
        yield self.send(STEADY, f"{STEADY} continues with its first leader", RECORDS)

    def leader_does_not_know(self, learners: bool) -> Iterator[Step]:
        """Let the controller elect a leader that does not hear of its election: a link is cut."""
        ends = {"broker": self._leader, "other": self._chief}
        self._say(f"the link between brokers {self._leader} and {self._chief} is cut")
        self._cluster.perform("cut-link", ends)
        yield self._elect(MOVED)
        yield self._waits()
        yield self.send(STEADY, f"{STEADY} continues, although {MOVED} has errors", RECORDS)
        self._cluster.perform("heal-link", ends)
        self._say("the link is healed")
        yield self.send(MOVED, f"{MOVED} goes on", RECORDS)
        yield self._judge(BACKOFF_MS - TOLERANCE_MS if learners else 1)

    def _controller(self) -> int:
        """Return the controller. It must not be broker 2, because the links of broker 2 are never
        cut. If broker 2 is the controller, let the brokers elect another. Raises ClusterError.
        """
        office = "/controller"
        with zookeeper_of(self._cluster) as zookeeper:
            for _ in range(OFFICE_TRIES):
                chief = int(json.loads(zookeeper.get(office)[0])["brokerid"])
                if chief != BROKER:
                    return chief
                zookeeper.delete(office)
                self._broker.listener.wait_for(
                    lambda: zookeeper.exists(office) is not None, self._broker.patience_s
                )
        raise ClusterError(f"broker {BROKER} became the controller {OFFICE_TRIES} times")

    def _in_sync(self) -> Step:
        """Wait until all replicas of both topics are in the ISR."""
        says = f"broker {self._leader} is in sync again"

        def whole() -> bool:
            return [len(self._state(topic).isr) for topic in (MOVED, STEADY)] == [3, 2]

        came = self._broker.listener.wait_for(whole, self._broker.patience_s)
        return Step(says, came, "" if came else "it is not", late=not came)

    def _elect(self, topic: str) -> Step:
        """Order the election of the preferred leader in ZooKeeper. Wait until it leads."""
        order = {"version": 1, "partitions": [{"topic": topic, "partition": 0}]}
        with zookeeper_of(self._cluster) as zookeeper:
            zookeeper.create(ELECTION, json.dumps(order).encode())
        came = self._broker.listener.wait_for(
            lambda: self._state(topic).leader == self._leader, self._broker.patience_s
        )
        says = f"broker {self._leader} is elected for {topic}"
        return Step(says, came, "" if came else "it is not", late=not came)

    def _state(self, topic: str) -> "_State":
        with zookeeper_of(self._cluster) as zookeeper:
            state = json.loads(zookeeper.get(f"/brokers/topics/{topic}/partitions/0/state")[0])
        return _State(state["leader"], state["leader_epoch"], tuple(state["isr"]))

    def _delays(self) -> list[tuple[int, FetcherPartitionDelayed]]:
        """Return the delays of single partitions in broker 2, each with its time in µs. Delays
        before broker 2 followed the topic MOVED in its current epoch are left out.
        """
        epoch = self._state(MOVED).leader_epoch
        delays: list[tuple[int, FetcherPartitionDelayed]] | None = None
        for envelope in list(self._broker.listener.envelopes):
            match envelope.event:
                case BecameFollower(topic=topic, leader_epoch=now) if (topic, now) == (
                    MOVED,
                    epoch,
                ):
                    delays = []
                case FetcherPartitionDelayed() as event if delays is not None:
                    delays.append((envelope.mono_us, event))
        return delays or []

    def _waits(self) -> Step:
        """Wait until the partition of MOVED has had some errors."""
        says = f"broker {self._leader} does not know: {MOVED} waits, and tries again"

        def seen() -> int:
            return sum(event.topic == MOVED for _, event in self._delays())

        came = self._broker.listener.wait_for(lambda: seen() >= DELAYS, self._broker.patience_s)
        return Step(says, came, f"{seen()} errors", late=not came)

    def _judge(self, least_ms: int) -> Step:
        """Check which partitions waited, and for how long."""
        says = f"{MOVED} alone waited, and each time for the back-off"
        delays = self._delays()
        others = [event.topic for _, event in delays if event.topic != MOVED]
        if others:
            return Step(says, False, f"{others[0]} waited too")
        times = [mono_us // 1_000 for mono_us, _ in delays]
        gaps = [later - sooner for sooner, later in pairwise(times)]
        least = min(gaps, default=0)
        return Step(says, least >= least_ms, f"{len(delays)} errors, at least {least:,} ms apart")

    def equal(self) -> Step:
        """Wait until the logs of all replicas have the same bytes."""
        says = "the logs of all brokers are equal, byte for byte"
        replicas = {TOPIC: ALL, OLD: ALL, MOVED: ALL, STEADY: (self._leader, BROKER)}

        def different() -> str:
            for topic, brokers in replicas.items():
                first = DELETED if topic == OLD else 0
                logs = [self._log(topic, broker, first) for broker in brokers]
                if any(log != logs[0] for log in logs):
                    return topic
            return ""

        came = self._broker.listener.wait_for(lambda: not different(), self._broker.patience_s)
        return Step(says, came, ", ".join(replicas) if came else f"those of {different()} are not")

    def kept(self) -> Step:
        """Check that each record that was acknowledged with acks=all is in the log of broker 2."""
        lost = [
            value.decode()
            for topic, values in self._acked.items()
            for log in [b"".join(self._log(topic, BROKER, 0))]
            for value in values
            if value not in log
        ]
        count = sum(map(len, self._acked.values()))
        says = "no acknowledged record is lost"
        return Step(says, not lost, f"{count} records" if not lost else ", ".join(lost[:5]))

    def _log(self, topic: str, broker: int, first: int) -> list[bytes]:
        """Return the batches of a replica from an offset on, as they are in its files."""
        batches: list[bytes] = []
        for log_dir in self._cluster.log_dirs(broker):
            for file in sorted((log_dir / f"{topic}-0").glob("*.log")):
                batches += _batches(file.read_bytes(), first)
        return batches


def _batches(data: bytes, first: int) -> Sequence[bytes]:
    """Return the batches of a segment that begin at an offset or after it."""
    batches, position = [], 0
    while position + _BATCH.size <= len(data):
        base, length = _BATCH.unpack_from(data, position)
        end = position + _BATCH.size + length
        if base >= first:
            batches.append(data[position:end])
        position = end
    return batches
