"""A group of real consumers while its coordinator is killed with -9, twice.

No record is lost, and committed offsets stay committed (spec O2).
"""

import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.conformance.brokers import ListeningBroker
from tests.conformance.replay import Asker
from tests.interop.client_contract import rd
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.faults

GROUP, TOPIC = "the-group", "t"
PARTITIONS = 4
PROPS = {
    "group.initial.rebalance.delay.ms": "100",
    "offsets.topic.num.partitions": "3",
    "zookeeper.session.timeout.ms": "3000",
    "min.insync.replicas": "2",
}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster("group-faults", brokers=3, props=PROPS) as running:
        yield running


class Member(threading.Thread):
    """Reads and commits after each record with a request of its own.

    It notes what it read and which commits were acknowledged.
    """

    def __init__(self, cluster: Cluster) -> None:
        # a member that a failed test leaves behind does not block the run
        super().__init__(daemon=True)
        settings = rd(
            cluster.bootstrap_servers,
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=10_000,
        )
        self._consumer = Consumer(settings)
        self.read: list[tuple[int, int]] = []
        self.committed: dict[int, int] = {}
        self._stopped = threading.Event()
        self.start()

    def run(self) -> None:
        unsaid: dict[int, int] = {}

        def taken(*_: object) -> None:
            # the new owner of the partition reads it again from the committed offset
            unsaid.clear()

        self._consumer.subscribe([TOPIC], on_assign=taken, on_revoke=taken, on_lost=taken)
        while not self._stopped.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.read.append((message.partition(), message.offset()))
                unsaid[message.partition()] = message.offset() + 1
            for partition, offset in list(unsaid.items()):
                try:
                    self._consumer.commit(
                        offsets=[TopicPartition(TOPIC, partition, offset)], asynchronous=False
                    )
                except KafkaException:
                    # The coordinator is away, or the group is joining. The next turn commits again.
                    continue
                unsaid.pop(partition, None)
                self.committed[partition] = offset
        self._consumer.close()

    def close(self) -> None:
        self._stopped.set()
        self.join(PATIENCE_S)


def coordinator(cluster: Cluster, asked: int) -> int:
    asker = Asker(ListeningBroker("127.0.0.1", cluster.port(asked)))
    answer = asker.ask(
        "find",
        FindCoordinatorRequest(key=GROUP),
        1,
        until=lambda found: found.error_code == Errors.NONE,
    )
    asker.close()
    return int(answer.node_id)


def test_consumers_go_on_and_no_commit_is_lost(cluster: Cluster) -> None:
    admin = AdminClient(rd(cluster.bootstrap_servers))
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])[TOPIC].result(PATIENCE_S)
    producer = Producer(rd(cluster.bootstrap_servers, acks="all", enable_idempotence=True))
    sent = 0

    def produce(count: int) -> None:
        nonlocal sent
        for _ in range(count):
            producer.produce(TOPIC, b"%d" % sent, partition=sent % PARTITIONS)
            sent += 1
        assert producer.flush(PATIENCE_S) == 0

    produce(200)
    members = [Member(cluster), Member(cluster)]

    def everything() -> bool:
        return len({record for member in members for record in member.read}) == sent

    wait_for(everything, "the first 200 were read")
    for _ in range(2):
        victim = coordinator(cluster, next(iter(cluster.broker_ids)))
        cluster.kill(victim)
        survivor = next(broker_id for broker_id in cluster.broker_ids if broker_id != victim)
        wait_for(lambda: coordinator(cluster, survivor) != victim, "another coordinates")  # noqa: B023 - called within the turn
        produce(200)
        wait_for(everything, "what was produced while the coordinator was away was read")
        cluster.start(victim)
        cluster.wait_ready()
    produce(40)
    wait_for(everything, "the last were read")
    wait_for(
        lambda: all(
            sum(m.committed.get(p, 0) == sent // PARTITIONS for m in members)
            for p in range(PARTITIONS)
        ),
        "all was committed",
    )
    for member in members:
        member.close()
    reader = Consumer(rd(cluster.bootstrap_servers, group_id=GROUP))
    committed = reader.committed([TopicPartition(TOPIC, p) for p in range(PARTITIONS)], PATIENCE_S)
    reader.close()
    assert [each.offset for each in committed] == [sent // PARTITIONS] * PARTITIONS
    reads = Counter(record for member in members for record in member.read)
    assert len(reads) == sent, "no record was left out"
    for member in members:
        for partition, offset in member.committed.items():
            assert offset <= committed[partition].offset, "no answered commit went back"
